package checker

import (
	"slices"

	"flotilla/bus/placed"
	"flotilla/bus/store"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/core/check"
	"flotilla/core/guard"
	"flotilla/core/rollout"
	"flotilla/subjects"
)

// records are the tables that checks depend on.
type records struct {
	placements *store.Table[api.Spec]
	specs      *store.Table[api.Spec]
	members    *store.Table[api.Spec]
	snapshots  *store.Table[api.Snapshot]
	seen       *store.Table[api.MemberRecord]
	schedules  *store.Table[api.Schedule]
	releases   *store.Table[api.Release]
	staged     *placed.StagedRuns
	checks     *store.Records[api.CheckRecord]
	freezes    *store.Table[api.Freeze]
	results    placed.Results

	bound, released *store.Inverse
	parsed          watch.Parsed[*api.Placement]
}

func newRecords(s *store.Store) *records {
	a := s.State.As(subjects.Checker)
	return &records{
		placements: store.Reads[api.Spec](a, subjects.PlacementSpecs),
		specs:      store.Reads[api.Spec](a, subjects.CheckSpecs),
		members:    store.Reads[api.Spec](a, subjects.MemberSpecs),
		snapshots:  store.Reads[api.Snapshot](a, subjects.Snapshots),
		seen:       store.Reads[api.MemberRecord](a, subjects.Members),
		schedules:  store.Reads[api.Schedule](a, subjects.Schedules),
		releases:   store.Reads[api.Release](a, subjects.Releases),
		staged:     placed.StagedRunsOf(a),
		checks:     store.Writes[api.CheckRecord](a, subjects.Checks),
		freezes:    store.Reads[api.Freeze](a, subjects.Freezes),
		results:    placed.ResultsOf(s),
		bound:      placed.Bound(a),
		released:   placed.Released(a),
	}
}

// gather collects what the checks of a placement depend on, and the revision of their record, 0 when there is none. Idle says
// that it has none, and goes out under none.
func (r *records) gather(name string) (in check.Input, revision uint64, idle bool, err error) {
	record, revision, found, err := r.checks.Find(name)
	if err != nil && found {
		return in, 0, false, err
	}
	if found {
		in.Record = &record
	}
	spec, at, there, err := r.placements.Find(name)
	if err != nil {
		return in, 0, false, err
	}
	if !there {
		r.parsed.Drop(name)
		return in, revision, !found, nil
	}
	if in.Placement, err = r.parsed.Of(name, at, func() (*api.Placement, error) { return api.SpecOf[api.Placement](&spec) }); err != nil {
		return in, 0, false, err
	}
	latest, run, err := placed.OutgoingSnapshot(r.snapshots, r.staged, in.Placement)
	if err != nil {
		return in, 0, false, err
	}
	in.Latest, in.Running, in.Name = latest, run != nil, check.Named(in.Placement, run)
	if in.Name == "" && !found {
		return in, 0, true, nil
	}
	in.Halted = r.halted(in.Placement)
	return in, revision, false, r.gatherRest(name, &in)
}

// halted says why nothing of a placement moves; empty where something may.
func (r *records) halted(p *api.Placement) string {
	if pause := api.PauseOf(p.Annotations); pause != nil {
		return "the rollout is " + pause.String()
	}
	freezes := guard.Read(r.freezes.Find)
	frozen := freezes.Of(api.FreezePlacements)
	if frozen == nil && p.External() {
		frozen = freezes.Of(api.FreezeRuns)
	}
	return guard.Waits(frozen)
}

func (r *records) gatherRest(name string, in *check.Input) error {
	if in.Name != "" {
		spec, _, found, err := r.specs.Find(in.Name)
		if err != nil {
			return err
		}
		if found {
			if in.Check, err = api.SpecOf[api.RolloutCheck](&spec); err != nil {
				return err
			}
		}
	}
	schedule, _, found, err := r.schedules.Find(name)
	if err != nil {
		return err
	}
	if found {
		in.Schedule = &schedule
	}
	release, _, found, err := r.releases.Find(name)
	if err != nil {
		return err
	}
	if found {
		in.Release = &release
	}
	return nil
}

// view is what a rollout sees of a member.
func (r *records) view(member string) (rollout.MemberView, error) {
	spec, state, err := placed.MemberOf(r.members, r.seen, member)
	return rollout.ViewOf(spec, state), err
}

// on lists the placements with checks that are bound or released to a member.
func (r *records) on(member string) []string {
	return slices.DeleteFunc(placed.On(r.bound, r.released, member), func(name string) bool { return r.checks.Revision(name) == 0 })
}
