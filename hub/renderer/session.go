package renderer

import (
	"context"
	"errors"
	"slices"

	kjson "k8s.io/apimachinery/pkg/util/json"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/render"
	"flotilla/core/validate"
)

// session renders the members of one placement; what it reads of content it reads once, and only where a shape is new.
type session struct {
	*gathered
	renderer *Renderer
	stored   *api.Rendered
	shapes   map[string]outcome
	made     map[string]bool // shapes that were rendered now
	bodies   map[string]map[string]any
	carriers []content.Earlier
	// unread says that objects could not be read.
	unread bool
}

// of is what overrides come to on a member of a shape.
func (s *session) of(ctx context.Context, m *api.Member, shape string) (outcome, error) {
	if out, known := s.shapes[shape]; known && (s.made[shape] || s.kept(out.work.Work)) {
		return out, nil
	}
	if err := s.read(ctx); err != nil {
		return outcome{}, err
	}
	out := outcome{work: api.RenderedWork{Work: s.gathered.of.base}}
	result, failure := s.plan.Render(m, s.bodies)
	switch {
	case failure != nil:
		out = outcome{failure: failure.Error()}
	case !slices.Equal(result.Manifests, s.snapshot.Manifests):
		var err error
		if out.work, err = s.store(ctx, result); err != nil {
			return out, err
		}
	}
	s.shapes[shape], s.made[shape] = out, true
	return out, nil
}

// kept says that a work is in the content as long as the record stands: what it names no more may be swept, although its shape is remembered.
func (s *session) kept(work string) bool {
	return work == "" || work == s.gathered.of.base || slices.ContainsFunc(s.stored.Works, func(w api.RenderedWork) bool { return w.Work == work })
}

// read reads the objects that overrides may change, and the work that they are of.
func (s *session) read(ctx context.Context) error {
	if s.bodies != nil {
		return nil
	}
	bodies := map[string]map[string]any{}
	for _, digest := range s.plan.Needs() {
		body, err := s.renderer.store.Content.Get(ctx, digest)
		if errors.Is(err, bus.ErrNotFound) || errors.Is(err, bus.ErrCorrupt) {
			s.unread = true
			s.renderer.options.Log.Warn().Err(err).Str("placement", s.snapshot.Placement).Msg("an object cannot be read: overrides cannot be followed on it")
			continue
		}
		if err != nil {
			return err
		}
		var object map[string]any
		if kjson.Unmarshal(body, &object) == nil {
			bodies[digest] = object
		}
	}
	work, err := s.renderer.store.Content.Work(ctx, s.gathered.of.base)
	if err != nil {
		return err
	}
	s.bodies, s.carriers = bodies, content.Carriers(s.gathered.of.base, &work)
	return nil
}

// store stores the work of a result, built upon that of the snapshot: what overrides change is stored once for all members
// on which it is the same.
func (s *session) store(ctx context.Context, result *render.Result) (api.RenderedWork, error) {
	to := s.renderer.store.Content
	plan := content.Plan{Keys: s.renderer.store.Keys, Limit: to.BundleLimit(), Size: func(m api.Manifest) int {
		if body, changed := result.Bodies[m.Digest]; changed {
			return len(body)
		}
		return validate.MaxObjectBytes
	}}
	bundles, err := plan.Upon(s.carriers, result.Manifests)
	if err != nil {
		return api.RenderedWork{}, err
	}
	made := api.RenderedWork{Work: bundles[len(bundles)-1].Digest}
	for i := range bundles[:len(bundles)-1] {
		made.Packs = append(made.Packs, bundles[i].Digest)
	}
	if s.kept(made.Work) {
		return made, nil
	}
	for i := range bundles {
		if err := to.PutBundle(ctx, bundles[i].Digest, &bundles[i].Work, result.Bodies); err != nil {
			return made, err
		}
	}
	return made, nil
}

// lost is a work that a release names and no record any more, with the packs that are not of snapshots.
func (r *Renderer) lost(ctx context.Context, digest string, ofSnapshots map[string]bool) (api.RenderedWork, error) {
	out := api.RenderedWork{Work: digest}
	work, err := r.store.Content.Work(ctx, digest)
	if errors.Is(err, bus.ErrNotFound) || errors.Is(err, bus.ErrCorrupt) {
		return out, nil
	}
	for i := range work.Packs {
		if pack := work.Packs[i].Digest; !ofSnapshots[pack] {
			out.Packs = append(out.Packs, pack)
		}
	}
	return out, err
}
