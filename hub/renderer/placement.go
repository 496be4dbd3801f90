package renderer

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	"flotilla/bus/placed"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/render"
)

// placement is what is kept of a placement between two looks at it; who leads next derives it anew.
type placement struct {
	// of is what shapes were rendered of.
	of     of
	shapes map[string]outcome
	// next is what was rendered last, without the works that only releases name.
	next api.Rendered
}

// of is what the outcome of a shape depends on.
type of struct {
	uid, base string
	versions  []api.OverrideVersion
}

func (o *of) same(other *of) bool {
	return o.uid == other.uid && o.base == other.base && slices.Equal(o.versions, other.versions)
}

// outcome is what overrides come to on the members of one shape.
type outcome struct {
	work    api.RenderedWork
	failure string
}

// place renders a placement, and writes what is new of it.
func (r *Renderer) place(ctx context.Context, name string) (time.Time, error) {
	defer r.store.Content.Hold()()
	whole, _ := r.changes.Take(name)
	p := r.followed.Of(name)
	stored, revision := r.records.stored(name)
	next, recheck := &p.next, time.Time{}
	if whole || p.shapes == nil {
		var err error
		if next, recheck, err = r.render(ctx, p, name, &stored); err != nil {
			return time.Time{}, err
		}
	}
	full, err := r.keeping(ctx, name, *next, &stored)
	if err != nil {
		return time.Time{}, err
	}
	if full.Kind == "" && r.records.placements.Revision(name) == 0 {
		r.followed.Forget(name)
	}
	return recheck, r.write(ctx, name, full, &stored, revision)
}

// write stores a rendering that differs from the stored one, or removes one of no use.
func (r *Renderer) write(ctx context.Context, name string, next, stored *api.Rendered, revision uint64) error {
	var op store.Op
	switch {
	case next.Kind == "" && revision == 0, revision != 0 && reflect.DeepEqual(next, stored):
		return nil
	case next.Kind == "":
		op = r.records.renderings.Delete(name, revision)
	default:
		op = r.records.renderings.Share(name, next, revision)
	}
	_, err := r.store.WriteTold(ctx, nil, op)
	return err
}

// render makes the rendering of the newest snapshot of a placement; one without uid where no override touches it.
func (r *Renderer) render(ctx context.Context, p *placement, name string, stored *api.Rendered) (*api.Rendered, time.Time, error) {
	g, err := r.gather(ctx, name, stored)
	if err != nil {
		return nil, time.Time{}, err
	}
	if p.shapes == nil || !p.of.same(&g.of) {
		p.of, p.shapes = g.of, map[string]outcome{}
	}
	p.next = api.Rendered{}
	if len(g.of.versions) == 0 {
		return &p.next, time.Time{}, nil
	}
	s := &session{renderer: r, gathered: g, stored: stored, shapes: p.shapes, made: map[string]bool{}}
	next := api.Rendered{
		Header: api.NewHeader(api.KindRendered), Placement: name, UID: g.of.uid, Snapshot: g.snapshot.Index, Base: g.of.base, Overrides: g.of.versions,
	}
	works := map[string]api.RenderedWork{}
	for i := range g.members {
		m := &g.members[i]
		overrides, shape := g.plan.Outline(m)
		out, err := s.of(ctx, m, shape)
		if err != nil {
			return nil, time.Time{}, err
		}
		next.Members = append(next.Members, api.RenderedMember{Member: m.Name, Work: out.work.Work, Overrides: overrides, Failure: out.failure})
		if out.work.Work != "" && out.work.Work != g.of.base {
			works[out.work.Work] = out.work
		}
	}
	next.Works, p.next = sortedWorks(works), next
	if s.unread {
		p.shapes = nil // they are read again
		return &next, r.store.Now().Add(again), nil
	}
	return &next, time.Time{}, nil
}

func sortedWorks(works map[string]api.RenderedWork) []api.RenderedWork {
	var out []api.RenderedWork
	for _, work := range works {
		out = append(out, work)
	}
	slices.SortFunc(out, func(a, b api.RenderedWork) int { return strings.Compare(a.Work, b.Work) })
	return out
}

// gathered is what a rendering starts from.
type gathered struct {
	of       of
	snapshot *api.Snapshot
	plan     *render.Plan
	members  []api.Member // sorted
}

// gather collects what the rendering of a placement depends on. Without versions there is nothing to render.
func (r *Renderer) gather(ctx context.Context, name string, stored *api.Rendered) (*gathered, error) {
	g := &gathered{}
	spec, _, found, err := r.records.placements.Find(name)
	if err != nil || !found {
		return g, err
	}
	p, err := api.SpecOf[api.Placement](&spec)
	if err != nil {
		return g, err
	}
	if g.snapshot, _, err = placed.OutgoingSnapshot(r.records.snapshots, r.records.staged, p); err != nil || g.snapshot == nil || g.snapshot.Error != "" {
		return g, err
	}
	all, err := r.records.all(ctx, r.store.Content, stored)
	if err != nil {
		return g, err
	}
	touching := render.Touching(name, g.snapshot.Manifests, all)
	if len(touching) == 0 {
		return g, nil
	}
	g.of = of{uid: spec.UID, base: g.snapshot.Work, versions: render.Versions(touching)}
	g.plan = render.New(g.snapshot.Manifests, touching, r.store.Keys)
	schedule, _, found, err := r.records.schedules.Find(name)
	if err != nil || !found || schedule.UID != spec.UID {
		return g, err
	}
	for i := range schedule.Bindings {
		m, err := r.records.member(schedule.Bindings[i].Member)
		if err != nil {
			return g, err
		}
		if m != nil {
			g.members = append(g.members, *m)
		}
	}
	slices.SortFunc(g.members, func(a, b api.Member) int { return strings.Compare(a.Name, b.Name) })
	return g, nil
}

// keeping adds to a rendering the works that releases still name.
func (r *Renderer) keeping(ctx context.Context, name string, next api.Rendered, stored *api.Rendered) (*api.Rendered, error) {
	release, _, _, err := r.records.releases.Find(name)
	if err != nil {
		return nil, err
	}
	held, own := map[string]api.RenderedWork{}, r.worksOfSnapshots(name)
	for _, work := range next.Works {
		held[work.Work] = work
	}
	known := map[string]api.RenderedWork{}
	for _, work := range stored.Works {
		known[work.Work] = work
	}
	for name := range releasedWorks(&release) {
		if _, there := held[name]; there || own[name] {
			continue
		}
		work, there := known[name]
		if !there {
			if work, err = r.lost(ctx, name, own); err != nil {
				return nil, err
			}
		}
		held[name] = work
	}
	if next.Works = sortedWorks(held); len(next.Works) > 0 && next.Kind == "" {
		next.Header, next.Placement = api.NewHeader(api.KindRendered), name
	}
	return &next, nil
}

// releasedWorks are the works that overrides made and that members may run, or go back to.
func releasedWorks(release *api.Release) map[string]bool {
	works := map[string]bool{}
	for i := range release.Entries {
		e := &release.Entries[i]
		if len(e.Overrides) > 0 && !e.Withdrawn {
			works[e.Work] = true
		}
		if e.Earlier != nil && len(e.Earlier.Overrides) > 0 {
			works[e.Earlier.Work] = true
		}
	}
	return works
}

// worksOfSnapshots are the works of the snapshots of a placement, and those that they name.
func (r *Renderer) worksOfSnapshots(name string) map[string]bool {
	works := map[string]bool{}
	for _, snapshot := range r.records.snapshots.Group(name) {
		works[snapshot.Value.Work] = true
		for _, pack := range snapshot.Value.Packs {
			works[pack] = true
		}
	}
	return works
}
