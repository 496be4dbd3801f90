package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/placed"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/eviction"
	"flotilla/core/guard"
	"flotilla/core/schedule"
)

// ofEvictions are the tables that evictions and drains depend on, beside those of every decision, or end in.
type ofEvictions struct {
	asked    *store.Table[api.Spec]
	budgets  *store.Table[api.Spec]
	locks    *store.Table[api.MemberLock]
	outcomes *store.Records[api.EvictionRecord]
	results  placed.Results
	freezes  *store.Table[api.Freeze]
}

// evict carries an eviction out, once: what became of it is written together with the schedule that no longer has the
// binding, or not at all; and only while what is released is what the budget was judged by. The outcome of one that was
// deleted goes too.
func (s *Scheduler) evict(ctx context.Context, name string) error {
	spec, _, found, err := s.records.asked.Find(name)
	if err != nil {
		return err
	}
	outcome, revision, decided, err := s.records.outcomes.Find(name)
	switch {
	case err != nil:
		return err
	case !found && decided:
		_, err := s.store.Writer.Write(ctx, s.records.outcomes.Delete(name, revision))
		return err
	case !found || decided && outcome.UID == spec.UID:
		return nil
	}
	asked, err := api.SpecOf[api.ClusterResourcePlacementEviction](&spec)
	if err != nil {
		return err
	}
	return s.judge(ctx, asked, revision)
}

// judge decides on an eviction that was not decided on, and writes what becomes of it. Revision is that of the outcome of a
// former one of its name.
func (s *Scheduler) judge(ctx context.Context, asked *api.ClusterResourcePlacementEviction, revision uint64) error {
	g, found, err := s.gather(asked.Spec.PlacementName)
	if err != nil {
		return err
	}
	if !found {
		g = &gathered{}
	}
	book, err := s.records.book(g)
	if err != nil {
		return err
	}
	v := book.Judge(asked.Spec.ClusterName)
	outcome := &api.EvictionRecord{Header: api.NewHeader(api.KindEvictionRecord), Eviction: asked.Name, UID: string(asked.UID)}
	outcome.Conditions = v.Conditions(asked.Generation, metav1.NewTime(s.store.Now()).Rfc3339Copy())
	told, ops := []api.Audit{toldOf(asked, &v)}, []store.Op{s.records.outcomes.Put(asked.Name, outcome, revision)}
	if v.Evicts {
		also, without, err := s.without(g, asked.Spec.ClusterName)
		if err != nil {
			return err
		}
		told, ops = append(told, also...), append(ops, without...)
	}
	_, err = s.store.WriteTold(ctx, told, ops...)
	return err
}

// without is the schedule without a binding that is evicted, as it is to be written, and what is told of it.
func (s *Scheduler) without(g *gathered, member string) ([]api.Audit, []store.Op, error) {
	g.in.Evicted = with(g.in.Evicted, member)
	plan, err := s.decide(g)
	if err != nil {
		return nil, nil, err
	}
	next := plan.Schedule(g.in)
	return schedule.Events(g.before, &next, plan.Removed), []store.Op{s.records.schedules.Put(next.Placement, &next, g.revision), g.released}, nil
}

// with is a sorted list with one more name.
func with(sorted []string, name string) []string {
	at, there := slices.BinarySearch(sorted, name)
	if there {
		return sorted
	}
	return slices.Insert(slices.Clone(sorted), at, name)
}

// toldOf is the event of what became of an eviction.
func toldOf(asked *api.ClusterResourcePlacementEviction, v *eviction.Verdict) api.Audit {
	e := api.Audit{
		Object: api.AuditObject(api.AuditEviction, asked.Name), Type: "Normal", Reason: "Evicted", By: "scheduler", Member: asked.Spec.ClusterName,
		Message: fmt.Sprintf("placement %s from %s: %s", asked.Spec.PlacementName, asked.Spec.ClusterName, v.Message),
	}
	if !v.Executed {
		e.Type, e.Reason = "Warning", "NotEvicted"
	}
	return e
}

// book is how the bindings of a placement stand.
func (r *records) book(g *gathered) (*eviction.Book, error) {
	in := eviction.Input{Placement: g.placement, Schedule: g.before, Release: g.release, Freezes: guard.Read(r.freezes.Find)}
	if g.placement == nil {
		return eviction.Open(in), nil
	}
	name := g.placement.Key()
	budget, _, found, err := r.budgets.Find(name)
	if err != nil {
		return nil, err
	}
	if found {
		b, err := api.SpecOf[api.ClusterResourcePlacementDisruptionBudget](&budget)
		if err != nil {
			return nil, err
		}
		in.Budget = &b.Spec
	}
	var broken []error
	in.Known = func(member string) eviction.Known {
		known, err := r.known(name, member)
		broken = append(broken, err)
		return known
	}
	return eviction.Open(in), errors.Join(broken...)
}

// known is what is known of a member that a placement is on.
func (r *records) known(placement, member string) (known eviction.Known, err error) {
	known.Result = r.results.Of(member, placement)
	record, _, seen, err := r.seen.Find(member)
	known.Silent = !seen || record.State == api.MemberUnknown
	if lock, _, held := r.locks.Get(member); held {
		known.Holder = lock.Owner
	}
	return known, err
}
