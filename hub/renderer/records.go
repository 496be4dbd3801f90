package renderer

import (
	"context"
	"fmt"

	"flotilla/bus/store"
	"flotilla/bus/streams"
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
	renderings *store.Records[api.Rendered]

	bound  *store.Inverse
	parsed store.Parsed[*render.Override]
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
		renderings: store.Writes[api.Rendered](a, subjects.Renderings),
		bound:      store.Bound(a),
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

// all are the overrides that can be read. One that cannot is left out where it did nothing: a placement that was rendered
// with it stays as it is.
func (r *records) all(ctx context.Context, content *streams.Content, rendered *api.Rendered) ([]*render.Override, error) {
	broken := r.overrides.Broken()
	if broken == nil {
		broken = map[string]error{}
	}
	var all []*render.Override
	for _, entry := range r.overrides.All() {
		o, err := r.parsed.Of(entry.Name, entry.Revision, func() (*render.Override, error) {
			if spec := entry.Value; spec.Digest != "" {
				body, err := content.Get(ctx, spec.Digest)
				if err != nil {
					return nil, err
				}
				spec.Body = body
				return render.Read(&spec)
			}
			return render.Read(&entry.Value)
		})
		if err != nil {
			broken[entry.Name] = err
			continue
		}
		all = append(all, o)
	}
	for i := range rendered.Overrides {
		if err := broken[rendered.Overrides[i].Name]; err != nil {
			return nil, fmt.Errorf("%s cannot be read: %w", api.OverrideName(rendered.Overrides[i].Name), err)
		}
	}
	return all, nil
}

// stored is the rendering of a placement as it stands, empty with revision 0 when there is none.
func (r *records) stored(name string) (rendered api.Rendered, revision uint64) {
	rendered, revision, _, err := r.renderings.Find(name)
	if err != nil {
		return api.Rendered{}, r.renderings.Revision(name) // it is made anew
	}
	return rendered, revision
}
