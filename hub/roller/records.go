package roller

import (
	"flotilla/bus/placed"
	"flotilla/bus/store"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/core/check"
	"flotilla/core/guard"
	"flotilla/core/render"
	"flotilla/core/rollout"
	"flotilla/core/staged"
	"flotilla/subjects"
)

// records are the tables a release depends on.
type records struct {
	placements *store.Table[api.Spec]
	overrides  *store.Table[api.Spec]
	members    *store.Table[api.Spec]
	snapshots  *store.Table[api.Snapshot]
	seen       *store.Table[api.MemberRecord]
	schedules  *store.Table[api.Schedule]
	renderings *store.Table[api.Rendered]
	checks     *store.Table[api.CheckRecord]
	staged     *placed.StagedRuns
	releases   *store.Records[api.Release]
	results    placed.Results

	bound, released *store.Inverse
	parsed          watch.Parsed[*render.Override]
	ofGuards
}

// ofGuards is what people say of what is to stay as it is.
type ofGuards struct {
	freezes   *store.Table[api.Freeze]
	approvals *store.Table[api.WithdrawalApproval]
}

func newRecords(s *store.Store) *records {
	a := s.State.As(subjects.Roller)
	return &records{
		placements: store.Reads[api.Spec](a, subjects.PlacementSpecs),
		overrides:  store.Reads[api.Spec](a, subjects.OverrideSpecs),
		members:    store.Reads[api.Spec](a, subjects.MemberSpecs),
		snapshots:  store.Reads[api.Snapshot](a, subjects.Snapshots),
		seen:       store.Reads[api.MemberRecord](a, subjects.Members),
		schedules:  store.Reads[api.Schedule](a, subjects.Schedules),
		renderings: store.Reads[api.Rendered](a, subjects.Renderings),
		checks:     store.Reads[api.CheckRecord](a, subjects.Checks),
		staged:     placed.StagedRunsOf(a),
		releases:   store.Writes[api.Release](a, subjects.Releases),
		ofGuards: ofGuards{
			freezes: store.Reads[api.Freeze](a, subjects.Freezes), approvals: store.Reads[api.WithdrawalApproval](a, subjects.Approvals),
		},
		results:  placed.ResultsOf(s),
		bound:    placed.Bound(a),
		released: placed.Released(a),
	}
}

// gather collects what the release of a placement depends on but for what is known of its members, and the revision
// of the release as it stands, 0 when there is none. A placement without spec has no UID.
func (r *records) gather(name string) (in rollout.Input, revision uint64, err error) {
	spec, _, found, err := r.placements.Find(name)
	if err != nil {
		return in, 0, err
	}
	if found {
		p, err := api.SpecOf[api.Placement](&spec)
		if err != nil {
			return in, 0, err
		}
		in.Placement = *p
		run, err := r.outgoing(&in)
		if err != nil {
			return in, 0, err
		}
		if run != nil {
			in.Grants = staged.Grants(run)
		}
		if err := r.gatherChecks(name, &in, run); err != nil {
			return in, 0, err
		}
	}
	in.Frozen = guard.Waits(r.frozen().Of(api.FreezePlacements))
	if err := r.gatherOverrides(name, &in); err != nil {
		return in, 0, err
	}
	schedule, _, found, err := r.schedules.Find(name)
	if err != nil {
		return in, 0, err
	}
	if found {
		in.Schedule = &schedule
	}
	release, revision, found, err := r.releases.Find(name)
	if err != nil {
		return in, 0, err
	}
	if found {
		in.Release = &release
	}
	return in, revision, nil
}

// gatherChecks finds what the snapshot goes out under, and what became of that.
func (r *records) gatherChecks(name string, in *rollout.Input, run *api.UpdateRunStatus) error {
	in.Checks.Name = check.Named(&in.Placement, run)
	record, _, found, err := r.checks.Find(name)
	if found {
		in.Checks.Record = &record
	}
	return err
}

// outgoing finds the snapshot that goes out of a placement now, and the staged run that brings it, if one does.
func (r *records) outgoing(in *rollout.Input) (run *api.UpdateRunStatus, err error) {
	in.Latest, run, err = placed.OutgoingSnapshot(r.snapshots, r.staged, &in.Placement)
	return run, err
}

// gatherOverrides collects which overrides touch the newest snapshot of a placement, and what they come to. One that cannot
// be read is left out, unless the placement was rendered with it.
func (r *records) gatherOverrides(name string, in *rollout.Input) error {
	broken := r.overrides.Broken()
	if r.overrides.Len()+len(broken) == 0 || in.Latest == nil {
		return nil
	}
	rendered, _, found, err := r.renderings.Find(name)
	if err != nil {
		return err
	}
	if found {
		in.Rendered = &rendered
	}
	all, err := render.All(r.overrides.All(), broken, &rendered, func(e *store.Entry[api.Spec]) (string, *render.Override, error) {
		o, err := r.parsed.Of(e.Name, e.Revision, func() (*render.Override, error) { return render.Read(&e.Value) })
		return e.Name, o, err
	})
	if err != nil {
		return err
	}
	in.Overrides = render.Versions(render.Touching(name, in.Latest.Manifests, all))
	return nil
}

// view is what a rollout sees of a member: its spec says whether it is part of the fleet, its record
// how it does.
func (r *records) view(member string) (rollout.MemberView, error) {
	spec, state, err := placed.MemberOf(r.members, r.seen, member)
	view := rollout.ViewOf(spec, state)
	if spec != nil {
		view.Frozen = guard.Waits(r.frozen().OfMember(member))
	}
	return view, err
}

// frozen are the freezes.
func (r *records) frozen() guard.Freezes { return guard.Read(r.freezes.Find) }

// on lists the placements that are bound or released to a member.
func (r *records) on(member string) []string {
	return placed.On(r.bound, r.released, member)
}
