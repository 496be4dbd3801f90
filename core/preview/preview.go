package preview

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/render"
	"flotilla/core/schedule"
	"flotilla/core/seal"
)

// Input is everything a preview depends on.
type Input struct {
	Placement *api.Placement
	Member    *api.Member
	// Manifests are those of the snapshot, Snapshot is its index, 0 for one that is still to be cut.
	Manifests []api.Manifest
	Snapshot  int64
	// Overrides are all of the fleet.
	Overrides []*render.Override
	// Body is the object of a digest; it may be changed by nobody.
	Body func(digest string) (map[string]any, error)
	Keys *seal.Keyring
	// Given counts the bytes of an object that overrides changed; an error of it ends the preview. Nil counts nothing.
	Given func(bytes int) error
	// Guessed says of a place that whoever asks, and may not read Secrets, decided what was written there; nil for others. No digest is
	// shown of a value that was.
	Guessed func(render.Written) bool
}

// Report is the answer about a member.
type Report struct {
	Member     string      `json:"member"`
	Placements []Placement `json:"placements"` // sorted by name
	Notes      []string    `json:"notes,omitempty"`
}

// Placement is what the member is given of one placement.
type Placement struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Snapshot is the index of what was cut, 0 for what would be.
	Snapshot int64 `json:"snapshot"`
	// NotPicked says why the placement does not go to the member; empty when it does.
	NotPicked string   `json:"notPicked,omitempty"`
	Objects   []Object `json:"objects"` // in apply order
}

// Object is one object on its way to a member.
type Object struct {
	Object api.ObjectRef `json:"object"`
	// Envelope is the one that it lies in on the hub, empty for others.
	Envelope string `json:"envelope,omitempty"`
	// Selected is the object as it was selected, Given as the member gets it: nil where it gets nothing of it.
	Selected map[string]any `json:"selected"`
	Given    map[string]any `json:"given,omitempty"`
	Deeds    []render.Deed  `json:"deeds,omitempty"`
	// LeftOut says that an override leaves it out, Failure that one cannot be followed; then the member is given nothing new of the
	// placement.
	LeftOut bool     `json:"leftOut,omitempty"`
	Failure *Failure `json:"failure,omitempty"`
}

// Failure is why an override cannot be followed.
type Failure struct {
	Member   string `json:"member"`
	Override string `json:"override"`
	Path     string `json:"path"`
	Reason   string `json:"reason"`
}

// Show shows one placement on a member.
func Show(in *Input) (Placement, error) {
	p := Placement{Name: in.Placement.Key(), Kind: in.Placement.Kind, Snapshot: in.Snapshot, Objects: []Object{}}
	plan := render.New(in.Manifests, render.Touching(p.Name, in.Manifests, in.Overrides), in.Keys)
	bodies := map[string]map[string]any{}
	for i := range in.Manifests {
		body, err := in.Body(in.Manifests[i].Digest)
		if err != nil {
			return p, fmt.Errorf("reading %s: %w", in.Manifests[i].ObjectRef, err)
		}
		bodies[in.Manifests[i].Digest] = body
	}
	for followed := range plan.Follow(in.Member, bodies) {
		o, err := in.shown(followed, bodies[followed.Manifest.Digest])
		if err != nil {
			return p, err
		}
		p.Objects = append(p.Objects, o)
	}
	return p, nil
}

// shown is an object with digests in the place of the values of Secrets.
func (in *Input) shown(f *render.Followed, body map[string]any) (Object, error) {
	o := Object{
		Object: f.Manifest.ObjectRef, Envelope: f.Manifest.Envelope, Deeds: f.Deeds, LeftOut: f.LeftOut, Selected: redacted(body, in.Keys),
	}
	if in.Given != nil {
		if err := in.Given(len(f.Body)); err != nil {
			return o, err
		}
	}
	guesses := in.guesses(f)
	switch {
	case f.Failure != nil:
		o.Failure = &Failure{f.Failure.Member, f.Failure.Override, f.Failure.Path, f.Failure.Reason}
	case f.LeftOut:
	case f.Body == nil && len(guesses) == 0:
		o.Given = o.Selected
	default:
		given := runtime.DeepCopyJSON(body)
		if f.Body != nil { // a guess that is right changes nothing, and is shown as a wrong one
			given = nil
			if err := kjson.Unmarshal(f.Body, &given); err != nil {
				return o, fmt.Errorf("reading %s as it is given: %w", o.Object, err)
			}
		}
		if o.Given = given; len(guesses) > 0 {
			content.RedactGuesses(given, body, guesses, in.Keys)
		} else {
			content.Redact(given, in.Keys)
		}
	}
	return o, nil
}

// guesses are the paths in an object at which whoever asks decided what was written.
func (in *Input) guesses(f *render.Followed) (paths []string) {
	for i := range f.Written {
		if in.Guessed != nil && in.Guessed(f.Written[i]) {
			paths = append(paths, f.Written[i].Path)
		}
	}
	return paths
}

func redacted(body map[string]any, keys *seal.Keyring) map[string]any {
	copied := runtime.DeepCopyJSON(body)
	content.Redact(copied, keys)
	return copied
}

// NotPicked says why a placement does not go to a member, empty when it does.
func NotPicked(in schedule.Input, member string) string {
	decided := schedule.Schedule(in)
	if slices.ContainsFunc(decided.Bindings, func(b api.Binding) bool { return b.Member == member }) {
		return ""
	}
	v, judged := decided.Verdicts.Of(member)
	if !judged {
		return "it is no member of the fleet"
	}
	return v.Reason
}

// Failed are the failures of a report, in its order.
func (r *Report) Failed() (all []string) {
	for i := range r.Placements {
		for j := range r.Placements[i].Objects {
			o := &r.Placements[i].Objects[j]
			if f := o.Failure; f != nil {
				all = append(all, fmt.Sprintf("%s: %s: %s: %s: %s", f.Member, f.Override, o.Object, f.Path, f.Reason))
			}
		}
	}
	return all
}
