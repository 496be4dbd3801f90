package salvage

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"flotilla/bus/census"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/verdict"
	"flotilla/subjects"
)

// reasonLossAccepted is the reason of the event that tells what was given up.
const reasonLossAccepted = "LossAccepted"

// acceptLoss goes on with what is left. What was decided for objects that are gone goes too: a hub that found it
// without them would withdraw from members what they run. So it is merely not listed any more, which
// agents keep and report.
func (s *Salvage) acceptLoss(ctx context.Context, by api.Caller) (any, error) {
	damage := s.store.Damage
	lost := lostOf(s.store, damage)
	if err := s.store.AcceptLoss(ctx, lost.changes()); err != nil {
		return nil, fmt.Errorf("going on without what is gone: %w", err)
	}
	for _, line := range damage.Lines() {
		s.store.Audit.Tell(ctx, by.Audit(api.Audit{
			Object: "fleet/state", Type: "Warning", Reason: reasonLossAccepted, Message: "gone on without what state lost: " + line,
		}))
	}
	s.options.Log.Warn().Str("damage", damage.String()).Strs("gone", damage.Gone).Msg("the loss is accepted")
	s.answer = &api.RestoreResponse{Damage: damage.String(), Records: s.store.Records()}
	close(s.decided)
	return s.answer, nil
}

// lost is what has to go after what is gone.
type lost struct {
	access *store.Access
	// placement and member say whether one is among what is gone.
	placement, member func(name string) bool
	ops               map[string]store.Op // by key
}

// lostOf finds out what is gone: when not every record is named, all that have no object count.
func lostOf(leader *store.Store, d *census.Damage) *lost {
	gone := func(family subjects.Family) func(string) bool {
		return func(name string) bool {
			key := family.Key(name)
			return slices.Contains(d.Gone, key) || !d.Complete() && leader.State.Revision(key) == 0
		}
	}
	return &lost{leader.State.As(subjects.Salvage), gone(subjects.PlacementSpecs), gone(subjects.MemberSpecs), map[string]store.Op{}}
}

// changes are what lets that which is gone be missing everywhere.
func (l *lost) changes() []store.Op {
	schedules, releases := store.Writes[api.Schedule](l.access, subjects.Schedules), store.Writes[api.Release](l.access, subjects.Releases)
	cut(l, schedules, l.unscheduled)
	cut(l, releases, l.unreleased)
	drop(l, schedules, subjects.Schedules)
	drop(l, store.Writes[verdict.Verdicts](l.access, subjects.Verdicts), subjects.Verdicts)
	drop(l, releases, subjects.Releases)
	drop(l, store.Writes[api.PlacementStatus](l.access, subjects.Statuses), subjects.Statuses)
	drop(l, store.Writes[api.Snapshot](l.access, subjects.Snapshots), subjects.Snapshots)
	sorted := make([]store.Op, 0, len(l.ops))
	for _, key := range slices.Sorted(maps.Keys(l.ops)) {
		sorted = append(sorted, l.ops[key])
	}
	return sorted
}

// drop removes the records of placements that are gone.
func drop[T any](l *lost, records *store.Records[T], family subjects.Family) {
	for _, name := range records.Names() {
		if l.placement(family.Group(name)) {
			l.ops[records.Key(name)] = records.Delete(name, records.Revision(name))
		}
	}
}

// cut writes records anew from which something was taken out.
func cut[T any](l *lost, records *store.Records[T], without func(*T) bool) {
	for _, entry := range records.All() {
		if next := entry.Value; without(&next) {
			l.ops[records.Key(entry.Name)] = records.Put(entry.Name, &next, entry.Revision)
		}
	}
}

// unscheduled takes members that are gone out of a schedule, so that nothing is moved away from them.
func (l *lost) unscheduled(s *api.Schedule) bool {
	before := len(s.Bindings)
	s.Bindings = slices.DeleteFunc(slices.Clone(s.Bindings), func(b api.Binding) bool { return l.member(b.Member) })
	return len(s.Bindings) < before
}

// unreleased takes them out of a release, so that nothing is withdrawn from them.
func (l *lost) unreleased(r *api.Release) bool {
	before := len(r.Entries)
	r.Entries = slices.DeleteFunc(slices.Clone(r.Entries), func(e api.ReleaseEntry) bool { return l.member(e.Member) })
	return len(r.Entries) < before
}
