package roller

import (
	"slices"

	"flotilla/bus/store"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/core/render"
	"flotilla/core/rollout"
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
	releases   *store.Records[api.Release]
	results    *watch.Values[api.PlacementResult]

	bound, released *store.Inverse
	parsed          store.Parsed[*render.Override]
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
		releases:   store.Writes[api.Release](a, subjects.Releases),
		results:    watch.ValuesOf[api.PlacementResult](s.Results),
		bound:      store.Bound(a),
		released:   store.Released(a),
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
	}
	if in.Latest, err = store.LatestSnapshot(r.snapshots, name, spec.UID); err != nil {
		return in, 0, err
	}
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

// result is the newest result of a member about a placement, nil when there is none that can be read.
func (r *records) result(member, placement string) *api.PlacementResult {
	result, _ := r.results.Get(subjects.ResultKey(member, subjects.CommandPlacement, placement))
	return result
}

// view is what a rollout sees of a member: its spec says whether it is part of the fleet, its record
// how it does.
func (r *records) view(member string) (rollout.MemberView, error) {
	spec, _, found, err := r.members.Find(member)
	if err != nil {
		return rollout.MemberView{}, err
	}
	if !found {
		return rollout.ViewOf(nil, ""), nil
	}
	record, _, _, err := r.seen.Find(member)
	if err != nil {
		return rollout.MemberView{}, err
	}
	return rollout.ViewOf(&spec, record.State), nil
}

// on lists the placements that are bound or released to a member.
func (r *records) on(member string) []string {
	all := append(r.bound.Of(member), r.released.Of(member)...)
	slices.Sort(all)
	return slices.Compact(all)
}
