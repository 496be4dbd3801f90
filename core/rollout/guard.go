package rollout

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/guard"
)

// guarded says what keeps a member as it is that would have to move; nothing where nothing does.
func (r *rollout) guarded(s *slot) string {
	switch {
	case s.foreign:
		return ""
	case s.view.Frozen != "" && s.unscheduled():
		return "withdrawal waits: " + s.view.Frozen
	case s.view.Frozen != "" && (s.joining() || s.bound() && r.stale(s)):
		return "waits: " + s.view.Frozen
	}
	return s.withheld
}

// withhold finds what members would lose if all moved that are to move, and holds what is beyond the bounds. What is held
// stays so until it is approved, or not wanted any more.
func (r *rollout) withhold() {
	g := r.in.Guard
	if g == nil {
		return
	}
	losing, held := r.losing(), r.heldBefore()
	wholes := r.recent().Wholes()
	holders := wholes
	for _, s := range r.slots {
		if s.live() {
			holders++
		}
		if s.loss.Whole {
			wholes++
		}
	}
	for _, s := range losing {
		if g.Approved(s.member, s.loss) {
			continue
		}
		lost, of := r.sum(s)
		switch {
		case s.loss.Whole && g.Bounds.Exceeded(wholes, holders):
			s.withheld = r.holdText(fmt.Sprintf("%d of %d members would lose it", wholes, holders), r.typed())
		case lost > g.Bounds.Count && g.Bounds.Exceeded(lost, of):
			s.withheld = r.holdText(fmt.Sprintf("%s would lose %d of %d objects", s.member, lost, of), s.member)
		case held[s.member]:
			s.withheld = r.holdText(fmt.Sprintf("what %s would lose was held before", s.member), r.typed())
		}
	}
}

// sum is how many objects a member will have lost of late that loses what it is to lose, and of how many.
func (r *rollout) sum(s *slot) (lost, of int) {
	gets := map[string]bool(nil)
	if s.loss.To != 0 {
		gets = r.newest()
	}
	own := r.recent().With(s.member, fmt.Sprint(s.entry.Snapshot, ">", s.loss.To), r.lost(s.entry.Snapshot, s.loss.To), gets)
	others := r.in.Guard.Taken(s.member)
	return others + own, r.in.Guard.Has(s.member) + others + own - s.loss.Objects
}

func (r *rollout) holdText(what, target string) string {
	b := r.in.Guard.Bounds
	return fmt.Sprintf("%s: %s, more than %d %% and more than %d: flotilla approve withdrawal %s", api.ReasonWithdrawalHeld, what, b.Percent, b.Count, target)
}

// typed is the placement as people type it.
func (r *rollout) typed() string {
	if p := &r.in.Placement; p.Namespace != "" {
		return "rp/" + p.Name + " -n " + p.Namespace
	}
	return api.AuditObject(api.AuditPlacement, r.in.Placement.Name)
}

// heldBefore are the members of which something is held as the release stands.
func (r *rollout) heldBefore() map[string]bool {
	held := map[string]bool{}
	for i := 0; r.in.Release != nil && i < len(r.in.Release.Held); i++ {
		if h := &r.in.Release.Held[i]; h.Loss != (api.Loss{}) {
			held[h.Member] = true
		}
	}
	return held
}

// losing are the members that would lose something, with what that is. A roll-back, an eviction and a drain have bounds of
// their own.
func (r *rollout) losing() (losing []*slot) {
	for _, s := range r.slots {
		switch {
		case s.foreign || s.view.Leaving || r.exempt(s):
		case s.unscheduled():
			s.loss = api.Loss{Objects: len(r.lost(s.entry.Snapshot, 0)), Of: s.record.Generation, Whole: true}
		case s.bound() && s.entry.Snapshot != r.latest.Index && !r.trial.refused:
			n := len(r.lost(s.entry.Snapshot, r.latest.Index))
			s.loss = api.Loss{Objects: n, Of: s.record.Generation, To: r.latest.Index, Whole: len(r.latest.Manifests) == 0}
		}
		if s.loss.Objects > 0 {
			losing = append(losing, s)
		} else {
			s.loss = api.Loss{}
		}
	}
	return losing
}

// exempt says that what a member loses is not for guards to hold: it goes back to what it had.
func (r *rollout) exempt(s *slot) bool {
	return r.latest.Undo != nil && !s.unscheduled()
}

// losses are what the guards of one decision find out once.
type losses struct {
	took   *guard.Recent
	newest map[string]bool
	lost   map[[2]int64][]string
}

// lost are the objects of a snapshot that the newest, to, does not hold; all of them where to is 0.
func (r *rollout) lost(from, to int64) []string {
	name := [2]int64{from, to}
	lost, known := r.losses.lost[name]
	if known {
		return lost
	}
	stay := []api.Manifest(nil)
	if to != 0 {
		stay = r.latest.Manifests
	}
	if held := r.in.Guard.Snapshot(from); held != nil {
		lost = guard.Keys(guard.Lost(held.Manifests, stay, 0))
	}
	if r.losses.lost == nil {
		r.losses.lost = map[[2]int64][]string{}
	}
	r.losses.lost[name] = lost
	return lost
}

// newest are the objects of the newest snapshot.
func (r *rollout) newest() map[string]bool {
	if r.losses.newest == nil {
		r.losses.newest = guard.Set(r.latest.Manifests)
	}
	return r.losses.newest
}

// recent is what the release took away of late, as it stands.
func (r *rollout) recent() *guard.Recent {
	if r.losses.took == nil {
		results := map[string]*api.PlacementResult{}
		for _, s := range r.slots {
			results[s.member] = s.result
		}
		r.losses.took = guard.RecentOf(r.in.Release, guard.Known{
			Snapshot: r.in.Guard.Snapshot,
			Applied:  func(entry *api.ReleaseEntry) bool { return guard.Applied(entry, results[entry.Member]) },
		}, r.in.Now)
	}
	return r.losses.took
}

// taken is what counts of what the release took away, with what it takes away now.
func (r *rollout) taken() (taken []api.Taken, gone []api.Gone) {
	if r.in.Guard == nil {
		return nil, nil
	}
	taken, gone = r.recent().Left()
	now := metav1.NewTime(r.in.Now).Rfc3339Copy()
	for _, s := range r.slots {
		if s.loss.Objects > 0 && s.entry != nil && (s.entry.Withdrawn || s.loss.To != 0 && s.entry.Snapshot == s.loss.To) {
			r.out.Takes = true
			t := api.Taken{Member: s.member, UID: s.record.UID, From: s.record.Snapshot, To: s.loss.To, Whole: s.loss.Whole, At: now}
			taken, gone = append(taken, t), r.gone(gone, &t)
		}
	}
	slices.SortStableFunc(taken, func(a, b api.Taken) int { return strings.Compare(a.Member, b.Member) })
	return taken, gone
}

// gone adds the objects of a loss, unless they are there.
func (r *rollout) gone(all []api.Gone, t *api.Taken) []api.Gone {
	if slices.ContainsFunc(all, func(g api.Gone) bool { return g.UID == t.UID && g.From == t.From && g.To == t.To }) {
		return all
	}
	return append(all, api.Gone{UID: t.UID, From: t.From, To: t.To, Objects: r.lost(t.From, t.To)})
}
