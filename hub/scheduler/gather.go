package scheduler

import (
	"errors"
	"fmt"
	"time"

	"flotilla/bus"
	"flotilla/bus/placed"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/core/schedule"
	"flotilla/core/verdict"
	"flotilla/subjects"
)

// records are the tables that decisions depend on or end in.
type records struct {
	placements *store.Table[api.Spec]
	members    *store.Table[api.Spec]
	seen       *store.Table[api.MemberRecord]
	releases   *store.Table[api.Release]
	schedules  *store.Records[api.Schedule]
	verdicts   *store.Records[verdict.Verdicts]
	ofEvictions
}

func newRecords(s *store.Store) *records {
	a := s.State.As(subjects.Scheduler)
	return &records{
		placements: store.Reads[api.Spec](a, subjects.PlacementSpecs),
		members:    store.Reads[api.Spec](a, subjects.MemberSpecs),
		seen:       store.Reads[api.MemberRecord](a, subjects.Members),
		releases:   store.Reads[api.Release](a, subjects.Releases),
		schedules:  store.Writes[api.Schedule](a, subjects.Schedules),
		verdicts:   store.Writes[verdict.Verdicts](a, subjects.Verdicts),
		ofEvictions: ofEvictions{
			asked:    store.Reads[api.Spec](a, subjects.EvictionSpecs),
			budgets:  store.Reads[api.Spec](a, subjects.BudgetSpecs),
			locks:    store.Reads[api.MemberLock](a, subjects.Locks),
			outcomes: store.Writes[api.EvictionRecord](a, subjects.Evictions),
			results:  placed.ResultsOf(s),
			freezes:  store.Reads[api.Freeze](a, subjects.Freezes),
		},
	}
}

// gathered is what one decision starts from.
type gathered struct {
	in        schedule.Input
	placement *api.Placement
	release   *api.Release  // nil when there is none
	released  store.Op      // holds release
	before    *api.Schedule // nil when there is none
	revision  uint64        // of before
	// holds are the records besides that must still be so when the decision is written.
	holds []store.Op
}

// gather collects everything but the fleet; false when the placement is gone. Bindings of a placement
// of the same name that was deleted and made again are not those of this one.
func (r *records) gather(name string, now time.Time, t schedule.Thresholds) (*gathered, bool, error) {
	spec, _, found, err := r.placements.Find(name)
	if err != nil || !found {
		return nil, false, err
	}
	p, err := api.SpecOf[api.Placement](&spec)
	if err != nil {
		return nil, false, err
	}
	g := &gathered{placement: p}
	subject := plan.Subject{Placement: *p}
	before, revision, found, err := r.schedules.Find(name)
	if err != nil {
		return nil, false, err
	}
	if found {
		g.before, g.revision = &before, revision
	}
	if g.before != nil && g.before.UID == spec.UID {
		if err := r.gatherRelease(name, g); err != nil {
			return nil, false, err
		}
		subject.Existing, subject.Drained = plan.Existing(g.before, g.release, spec.UID), g.before.Drained
		if g.before.Policy == schedule.PolicyDigest(p.Spec.Policy) {
			subject.Evicted = g.before.Evicted
		}
	}
	g.in = subject.Input(nil, now, t)
	return g, true, nil
}

// gatherRelease adds the release of a placement, if there is one.
func (r *records) gatherRelease(name string, g *gathered) error {
	release, revision, found, err := r.releases.Find(name)
	if found {
		g.release = &release
	}
	g.released = r.releases.Holds(name, revision)
	return err
}

// check refuses to decide while a member that g is bound to is missing from the fleet because its
// records cannot be read: it is not gone.
func (r *records) check(g *gathered, fleet *schedule.Fleet) error {
	for i := range g.in.Existing {
		name := g.in.Existing[i].Member
		if fleet.Has(name) {
			continue
		}
		if _, err := r.member(name, g.in.Now); err != nil && !errors.Is(err, bus.ErrNotFound) {
			return err
		}
	}
	return nil
}

// fresh is the time of the last heartbeat of a member that the registrar does not call Unknown: later
// than any clock, because heartbeats that change nothing do not come here.
var fresh = time.Date(2190, 1, 1, 0, 0, 0, 0, time.UTC)

// member joins the records of a member into what the core decides on.
func (r *records) member(name string, now time.Time) (api.Member, error) {
	spec, _, found, err := r.members.Find(name)
	if err != nil {
		return api.Member{}, err
	}
	if !found {
		return api.Member{}, fmt.Errorf("member %s: %w", name, bus.ErrNotFound)
	}
	mc, err := api.SpecOf[api.MemberCluster](&spec)
	if err != nil {
		return api.Member{}, err
	}
	record, _, seen, err := r.seen.Find(name)
	if err != nil {
		return api.Member{}, err
	}
	if !seen {
		return api.MemberFrom(mc, nil, now), nil
	}
	m := api.MemberFrom(mc, &record, now)
	if record.State != api.MemberUnknown {
		m.LastHeartbeat = fresh
	}
	return m, nil
}
