package scheduler

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"flotilla/bus"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/schedule"
	"flotilla/core/verdict"
)

// act writes the schedule if it changed, and then the verdicts, and says what is stored then.
func (s *Scheduler) act(ctx context.Context, g *gathered, plan *schedule.Plan) (decided, error) {
	now := plan.Schedule(g.in)
	left := decided{schedule: g.revision}
	if g.before == nil || !same(g.before, &now) {
		put := s.records.schedules.Share(now.Placement, &now, g.revision)
		revisions, err := s.store.WriteTold(ctx, schedule.Events(g.before, &now, plan.Removed), append(g.holds, put)...)
		if err != nil {
			return left, err
		}
		left.schedule = revisions[0]
		s.options.Log.Debug().Str("placement", now.Placement).Int("bindings", len(now.Bindings)).
			Int("removed", len(plan.Removed)).Bool("fulfilled", now.Fulfilled).Stringer("verdicts", &plan.Verdicts).Msg("scheduled")
	}
	var err error
	left.verdicts, err = s.tell(ctx, &plan.Verdicts)
	return left, err
}

// same reports whether nothing changed but the ages in the reasons of members that are missing, or
// wait, for the same cause as before.
func same(before, now *api.Schedule) bool {
	waits := func(a, b api.Binding) bool {
		if a.Waiting && b.Waiting {
			a.Reason, b.Reason = "", ""
		}
		return reflect.DeepEqual(a, b)
	}
	lacks := func(a, b api.Unpicked) bool { return a.Member == b.Member && a.Filter == b.Filter }
	if !slices.EqualFunc(before.Bindings, now.Bindings, waits) || !slices.EqualFunc(before.Unpicked, now.Unpicked, lacks) ||
		!slices.Equal(before.Evicted, now.Evicted) || !slices.Equal(before.Drained, now.Drained) {
		return false
	}
	a, b := *before, *now
	for _, s := range []*api.Schedule{&a, &b} {
		s.Bindings, s.Unpicked, s.Evicted, s.Drained = nil, nil, nil, nil
	}
	return reflect.DeepEqual(a, b)
}

// tell writes the verdicts if they changed in more than ages, and returns their revision. Verdicts too large to be kept are
// no reason to decide again: `why` renders them from the fleet.
func (s *Scheduler) tell(ctx context.Context, now *verdict.Verdicts) (uint64, error) {
	before, revision, found, err := s.records.verdicts.Find(now.Placement)
	if err != nil { // they are all made anew
		s.options.Log.Warn().Err(err).Msg("writing verdicts over")
	}
	if found && before.Agrees(now) {
		return revision, nil
	}
	revisions, err := s.store.Writer.Write(ctx, s.records.verdicts.Share(now.Placement, now, revision))
	if errors.Is(err, bus.ErrTooLarge) {
		s.options.Log.Error().Err(err).Str("placement", now.Placement).Msg("keeping verdicts")
		s.store.Audit.Record(api.Audit{
			Object: address(now.Placement), Type: "Warning", Reason: "VerdictsTooLarge", By: "scheduler",
			Message: fmt.Sprintf("the verdicts of %d members are not kept: %v; flotilla why computes them", now.Len(), err),
		})
		return revision, nil
	}
	if err != nil {
		return 0, err
	}
	return revisions[0], nil
}

// forget deletes what was decided for a placement that is gone.
func (s *Scheduler) forget(ctx context.Context, name string) error {
	var ops []store.Op
	if revision := s.records.schedules.Revision(name); revision != 0 {
		ops = append(ops, s.records.schedules.Delete(name, revision))
	}
	if revision := s.records.verdicts.Revision(name); revision != 0 {
		ops = append(ops, s.records.verdicts.Delete(name, revision))
	}
	_, err := s.store.Writer.Write(ctx, ops...)
	return err
}
