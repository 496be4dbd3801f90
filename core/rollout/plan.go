package rollout

import (
	"cmp"
	"reflect"
	"slices"

	"flotilla/core/api"
)

// newEntry returns an entry that is numbered with the step it is part of.
func newEntry(member, uid string) *api.ReleaseEntry {
	return &api.ReleaseEntry{Member: member, UID: uid}
}

// plan makes the answer: entries that changed take the next step's number.
func (r *rollout) plan() Plan {
	next := api.Release{
		Header:    api.NewHeader(api.KindRelease),
		Placement: r.key(),
		Step:      r.step,
		Entries:   make([]api.ReleaseEntry, 0, len(r.slots)),
	}
	next.Taken, next.Gone = r.taken()
	for _, s := range r.slots {
		if s.entry != nil {
			if s.entry.Generation == 0 {
				next.Step = r.step + 1
				s.entry.Generation = next.Step
			}
			next.Entries = append(next.Entries, *s.entry)
		}
		if s.held != "" {
			h := api.Held{Member: s.member, Reason: s.held, Overridden: s.want.failed && s.held == s.want.why, Guarded: s.kept}
			if s.withheld != "" {
				h.Loss = s.loss
			}
			next.Held = append(next.Held, h)
		}
		r.recheckAt(s)
	}
	p := r.out
	p.Changed = changed(r.in.Release, &next)
	p.Release = next
	if !p.Changed && r.in.Release != nil {
		p.Release = *r.in.Release
	}
	p.Hold = p.Release.Held
	for _, names := range [][]string{p.Advance, p.Withdraw, p.Confirmed, p.Dropped, p.Back} {
		slices.SortFunc(names, cmp.Compare[string])
	}
	p.Events = r.events(&p)
	return p
}

func (r *rollout) key() string {
	if r.in.Placement.Name == "" && r.in.Release != nil {
		return r.in.Release.Placement
	}
	return r.in.Placement.Key()
}

// recheckAt asks to look again when time alone makes a member ready.
func (r *rollout) recheckAt(s *slot) {
	if s.readyAt.IsZero() || !s.live() {
		return
	}
	if r.out.Recheck.IsZero() || s.readyAt.Before(r.out.Recheck) {
		r.out.Recheck = s.readyAt
	}
}

func changed(before, after *api.Release) bool {
	if before == nil {
		return len(after.Entries) > 0 || len(after.Held) > 0
	}
	return before.Placement != after.Placement || before.Step != after.Step ||
		!slices.Equal(before.Held, after.Held) ||
		!slices.EqualFunc(before.Entries, after.Entries, sameEntry)
}

func sameEntry(a, b api.ReleaseEntry) bool {
	return a.Since.Time.Equal(b.Since.Time) && (a.Apply == b.Apply || reflect.DeepEqual(a.Apply, b.Apply)) && slices.Equal(a.Overrides, b.Overrides) &&
		a.Member == b.Member && a.UID == b.UID && a.Snapshot == b.Snapshot && a.Work == b.Work && a.Generation == b.Generation &&
		a.Withdrawn == b.Withdrawn && a.Abandon == b.Abandon && a.RolledBack == b.RolledBack && sameEarlier(a.Earlier, b.Earlier)
}

func sameEarlier(a, b *api.Earlier) bool { return a == b || reflect.DeepEqual(a, b) }
