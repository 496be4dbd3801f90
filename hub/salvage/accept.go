package salvage

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"flotilla/bus"
	"flotilla/core/api"
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
	if err := s.store.AcceptLoss(ctx, lost.ops()); err != nil {
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
	store *bus.Store
	// placement and member say whether one is among what is gone.
	placement, member func(name string) bool
	// returned are keys of records that were deleted, and are there again.
	returned []string
}

// lostOf finds out what is gone: when not every record is named, all that have no object count.
func lostOf(store *bus.Store, d *bus.Damage) *lost {
	gone := func(family subjects.Family) func(string) bool {
		return func(name string) bool {
			key := family.Key(name)
			return slices.Contains(d.Gone, key) || !d.Complete() && store.State.Revision(key) == 0
		}
	}
	return &lost{store: store, placement: gone(subjects.PlacementSpecs), member: gone(subjects.MemberSpecs), returned: d.Deleted}
}

// ops are the changes that let what is gone be missing everywhere.
func (l *lost) ops() []bus.Op {
	ops := map[string]bus.Op{}
	for _, key := range l.returned {
		ops[key] = bus.Delete(key, l.store.State.Revision(key))
	}
	cut(l, ops, subjects.Schedules, l.unscheduled)
	cut(l, ops, subjects.Releases, l.unreleased)
	for _, family := range []subjects.Family{
		subjects.Schedules, subjects.Verdicts, subjects.Releases, subjects.Statuses, subjects.Snapshots,
	} {
		for _, key := range l.store.State.Keys(family.Prefix()) {
			if name, ok := family.Name(key); ok && l.placement(family.Group(name)) {
				ops[key] = bus.Delete(key, l.store.State.Revision(key))
			}
		}
	}
	sorted := make([]bus.Op, 0, len(ops))
	for _, key := range slices.Sorted(maps.Keys(ops)) {
		sorted = append(sorted, ops[key])
	}
	return sorted
}

// cut writes the records of a family anew of which without takes something away.
func cut[T any](l *lost, ops map[string]bus.Op, family subjects.Family, without func(*T) bool) {
	table := bus.TableOf[T](l.store.State, family)
	for _, entry := range table.All() {
		if next := entry.Value; without(&next) {
			key := table.Key(entry.Name)
			ops[key] = bus.Put(key, &next, entry.Revision)
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
