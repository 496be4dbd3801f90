package render

import (
	"iter"
	"strings"

	"flotilla/core/api"
)

// Deed is what one rule of an override, or one patch of it, does to an object. It shows no value.
type Deed struct {
	Override string `json:"override"` // "ResourceOverride/shop/eu"
	// Path is where it stands in the override, What is "replace /spec/replicas", or "leaves it out".
	Path string `json:"path"`
	What string `json:"what"`
}

// Written is a place in an object that a patch of an override wrote to, "data.pin" as package content names values.
type Written struct {
	Override *Override
	Path     string
	// Filled says that what was written depends on the name or the labels of the member.
	Filled bool
}

// Followed is an object of a snapshot as overrides leave it on a member.
type Followed struct {
	// Manifest is the object as it was selected.
	Manifest api.Manifest
	// Deeds are what was done to it, in order.
	Deeds   []Deed
	LeftOut bool
	// Written are the places that patches wrote to on the way.
	Written []Written
	// Body is what became of it, nil where it is as selected, or left out.
	Body    []byte
	Failure *Failure
}

// Follow tells of every object what overrides do to it on a member, also of those behind the first failure. Bodies are those of Render.
// Each is worked out when its turn comes: bodies may be large.
func (p *Plan) Follow(m *api.Member, bodies map[string]map[string]any) iter.Seq[*Followed] {
	return func(yield func(*Followed) bool) {
		for i := range p.manifests {
			if !yield(p.followed(m, i, bodies)) {
				return
			}
		}
	}
}

func (p *Plan) followed(m *api.Member, i int, bodies map[string]map[string]any) *Followed {
	f := &Followed{Manifest: p.manifests[i]}
	if len(p.selected[i]) == 0 {
		return f
	}
	next, made, failure := p.follow(m, i, bodies[f.Manifest.Digest])
	f.Deeds, f.Written, f.Failure = next.deeds, next.written, failure
	switch {
	case failure != nil:
	case made == nil:
		f.LeftOut = true
	case made.Digest != f.Manifest.Digest:
		f.Body = made.body
	}
	return f
}

func (f *following) did(o *Override, path, what string) {
	f.deeds = append(f.deeds, Deed{Override: o.String(), Path: path, What: what})
}

func (f *following) wrote(o *Override, p *patch) {
	f.written = append(f.written, Written{o, strings.Join(p.tokens, "."), p.named || len(p.variables) > 0})
}
