package renderer

import (
	"context"

	"flotilla/bus/placed"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/core/render"
	"flotilla/subjects"
)

// records are the tables a rendering depends on.
type records struct {
	placements *store.Table[api.Spec]
	overrides  *store.Table[api.Spec]
	members    *store.Table[api.Spec]
	seen       *store.Table[api.MemberRecord]
	snapshots  *store.Table[api.Snapshot]
	schedules  *store.Table[api.Schedule]
	releases   *store.Table[api.Release]
	staged     *placed.StagedRuns
	renderings *store.Records[api.Rendered]

	bound  *store.Inverse
	parsed watch.Parsed[*render.Override]
}

func newRecords(s *store.Store) *records {
	a := s.State.As(subjects.Renderer)
	return &records{
		placements: store.Reads[api.Spec](a, subjects.PlacementSpecs),
		overrides:  store.Reads[api.Spec](a, subjects.OverrideSpecs),
		members:    store.Reads[api.Spec](a, subjects.MemberSpecs),
		seen:       store.Reads[api.MemberRecord](a, subjects.Members),
		snapshots:  store.Reads[api.Snapshot](a, subjects.Snapshots),
		schedules:  store.Reads[api.Schedule](a, subjects.Schedules),
		releases:   store.Reads[api.Release](a, subjects.Releases),
		staged:     placed.StagedRunsOf(a),
		renderings: store.Writes[api.Rendered](a, subjects.Renderings),
		bound:      placed.Bound(a),
	}
}

// member is a member with its labels, nil for one that is no part of the fleet.
func (r *records) member(name string) (*api.Member, error) {
	spec, _, found, err := r.members.Find(name)
	if err != nil || !found {
		return nil, err
	}
	mc, err := api.SpecOf[api.MemberCluster](&spec)
	if err != nil {
		return nil, err
	}
	record, _, seen, err := r.seen.Find(name)
	if err != nil {
		return nil, err
	}
	m := &api.Member{Name: name, Labels: api.MemberFrom(mc, nil, mc.CreationTimestamp.Time).Labels}
	if seen {
		m.Labels = api.MemberFrom(mc, &record, mc.CreationTimestamp.Time).Labels
	}
	return m, nil
}

// all are the overrides that can be read, with the bodies of those that put something into Secrets.
func (r *records) all(ctx context.Context, content *streams.Content, rendered *api.Rendered) ([]*render.Override, error) {
	return render.All(r.overrides.All(), r.overrides.Broken(), rendered, func(e *store.Entry[api.Spec]) (string, *render.Override, error) {
		o, err := r.parsed.Of(e.Name, e.Revision, func() (_ *render.Override, err error) {
			spec := e.Value
			if spec.Digest != "" {
				if spec.Body, err = content.Get(ctx, spec.Digest); err != nil {
					return nil, err
				}
			}
			return render.Read(&spec)
		})
		return e.Name, o, err
	})
}

// stored is the rendering of a placement as it stands, empty with revision 0 when there is none.
func (r *records) stored(name string) (rendered api.Rendered, revision uint64) {
	rendered, revision, _, err := r.renderings.Find(name)
	if err != nil {
		return api.Rendered{}, r.renderings.Revision(name) // it is made anew
	}
	return rendered, revision
}
