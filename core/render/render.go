package render

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/seal"
	"flotilla/core/strict"
	"flotilla/core/validate"
)

// Plan is a snapshot with the overrides that touch it.
type Plan struct {
	manifests []api.Manifest
	overrides []*Override
	// selected are the places of the overrides that change each manifest, in the order in which they are followed.
	selected [][]int
	keys     *seal.Keyring
}

// New returns the plan of manifests with what Touching returned; keys digest what is changed.
func New(manifests []api.Manifest, touching []*Override, keys *seal.Keyring) *Plan {
	p := &Plan{manifests: manifests, overrides: touching, selected: make([][]int, len(manifests)), keys: keys}
	for i := range manifests {
		for at, o := range touching {
			if o.selects(manifests[i].ObjectRef) {
				p.selected[i] = append(p.selected[i], at)
			}
		}
	}
	return p
}

// Needs are the digests of the objects that may be changed, sorted.
func (p *Plan) Needs() []string {
	var out []string
	for i := range p.manifests {
		if len(p.selected[i]) > 0 {
			out = append(out, p.manifests[i].Digest)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Outline says which overrides have a rule that matches a member, by their places, and the member's shape: what is rendered
// for one member is right for all of its shape.
func (p *Plan) Outline(m *api.Member) (overrides []int, shape string) {
	set, b := labels.Set(m.Labels), &strings.Builder{}
	for at, o := range p.overrides {
		matched := false
		for i := range o.rules {
			if r := &o.rules[i]; r.matches(set) {
				matched = true
				fmt.Fprintf(b, "%d.%d", at, i)
				r.variables(m, b)
			}
		}
		if matched {
			overrides = append(overrides, at)
		}
	}
	return overrides, b.String()
}

// variables writes what a member puts into the values of a rule.
func (r *rule) variables(m *api.Member, b *strings.Builder) {
	for i := range r.patches {
		p := &r.patches[i]
		if p.named {
			fmt.Fprintf(b, " %q", m.Name)
		}
		for _, key := range p.variables {
			value, labelled := m.Labels[key]
			fmt.Fprintf(b, " %q=%q", key, value)
			if !labelled { // its name is in the failure
				fmt.Fprintf(b, "?%q", m.Name)
			}
		}
	}
	b.WriteByte('\n')
}

// Result is the work of a member.
type Result struct {
	// Manifests are what the member is to hold, in apply order.
	Manifests []api.Manifest
	// Bodies are those of objects that were changed, by digest.
	Bodies map[string][]byte
}

// Failure is why overrides cannot be followed on a member. It shows no value.
type Failure struct {
	Member   string
	Override string // "ResourceOverride/shop/eu"
	Object   api.ObjectRef
	// Path is where the fault stands in the override.
	Path   string
	Reason string
}

// Error is "ResourceOverride/shop/eu: Deployment/shop/web: spec.policy.…: what is wrong".
func (f *Failure) Error() string {
	return fmt.Sprintf("%s: %s: %s: %s", f.Override, f.Object, f.Path, f.Reason)
}

// Render is the work of a member, or the first Failure. Bodies are those of Needs, by digest; they are not changed.
func (p *Plan) Render(m *api.Member, bodies map[string]map[string]any) (*Result, *Failure) {
	out := &Result{Bodies: map[string][]byte{}}
	for i := range p.manifests {
		manifest := p.manifests[i]
		if len(p.selected[i]) > 0 {
			object, failure := p.object(m, i, bodies[manifest.Digest])
			if failure != nil {
				return nil, failure
			}
			if object == nil {
				continue
			}
			if object.Digest != manifest.Digest {
				manifest.Digest = object.Digest
				out.Bodies[object.Digest] = object.body
			}
		}
		out.Manifests = append(out.Manifests, manifest)
	}
	return out, nil
}

// rendered is an object that overrides were followed on.
type rendered struct {
	api.Manifest
	body []byte
}

// object follows the overrides of a manifest on a member; nil when the object is left out there.
func (p *Plan) object(m *api.Member, i int, body map[string]any) (*rendered, *Failure) {
	_, made, failure := p.follow(m, i, body)
	return made, failure
}

// follow is object, with what was done on the way.
func (p *Plan) follow(m *api.Member, i int, body map[string]any) (*following, *rendered, *Failure) {
	manifest := p.manifests[i]
	next := &following{member: m, ref: manifest.ObjectRef, set: labels.Set(m.Labels), original: body}
	for _, at := range p.selected[i] {
		if failure := next.follow(p.overrides[at]); failure != nil {
			return next, nil, failure
		}
	}
	switch {
	case next.deleted != "":
		return next, nil, nil
	case next.changed == nil:
		return next, &rendered{Manifest: manifest}, nil
	}
	made, failure := next.finish(p.keys)
	if failure != nil {
		return next, nil, failure
	}
	manifest.Digest = made.Head.ManifestDigest()
	return next, &rendered{manifest, made.Manifest}, nil
}

// following is one object on its way through the overrides that change it.
type following struct {
	member   *api.Member
	ref      api.ObjectRef
	set      labels.Set
	original map[string]any // nil where it could not be read
	changed  map[string]any // nil until it is
	deleted  string         // the override that leaves it out
	last     *Override      // that changed it
	deeds    []Deed
	written  []Written
}

func (f *following) fail(o *Override, path, format string, args ...any) *Failure {
	return &Failure{Member: f.member.Name, Override: o.String(), Object: f.ref, Path: path, Reason: fmt.Sprintf(format, args...)}
}

// follow follows the rules of one override that match the member; one that leaves the object out is the last of them.
func (f *following) follow(o *Override) *Failure {
	for i := range o.rules {
		r, at := &o.rules[i], fmt.Sprintf("spec.policy.overrideRules[%d]", i)
		switch {
		case !r.matches(f.set):
		case r.deletes:
			f.deleted, f.changed = o.String(), nil
			f.did(o, at, "leaves it out")
			return nil
		case f.deleted != "":
			return f.fail(o, at, "%s leaves the object out: there is nothing to patch", f.deleted)
		default:
			if failure := f.patch(o, at, r.patches); failure != nil {
				return failure
			}
		}
	}
	return nil
}

func (f *following) patch(o *Override, at string, patches []patch) *Failure {
	if f.changed == nil {
		if f.original == nil {
			return f.fail(o, at, "what the hub stores of the object cannot be read: apply it again")
		}
		f.changed = runtime.DeepCopyJSON(f.original)
	}
	f.last = o
	for i := range patches {
		p, at := &patches[i], fmt.Sprintf("%s.jsonPatchOverrides[%d]", at, i)
		if expected := validate.PatchPath(p.path); expected != "" {
			return f.fail(o, at+".path", "found %s, expected %s", strict.Quote(p.path), expected)
		}
		value, err := filled(p.value, f.member)
		if err != nil {
			return f.fail(o, at+".value", "%s", err)
		}
		if _, err := change(f.changed, p.tokens, "", p.op, value); err != nil {
			return f.fail(o, at, "%s %s: %s", p.op, p.path, err)
		}
		f.did(o, at, p.op+" "+p.path)
		f.wrote(o, p)
	}
	return nil
}

// finish holds what became of an object to what the door holds objects to.
func (f *following) finish(keys *seal.Keyring) (made content.Object, failure *Failure) {
	const at = "spec.policy.overrideRules"
	metadata, _ := f.changed["metadata"].(map[string]any)
	for _, field := range []string{"labels", "annotations"} {
		if why := notTexts(metadata[field]); why != "" {
			return made, f.fail(f.last, at, "/metadata/%s becomes %s, expected a map of strings", field, why)
		}
	}
	made, err := content.New(f.changed, keys)
	if err != nil {
		return made, f.fail(f.last, at, "the object cannot be written any more")
	}
	if made.Head.Object != f.ref {
		return made, f.fail(f.last, at, "the object becomes %s", made.Head.Object)
	}
	if _, faults := validate.Decode(made.Body); len(faults) > 0 {
		return made, f.fail(f.last, at, "the object becomes one that is refused: %sexpected %s", strings.TrimLeft(faults[0].Path+": ", ": "), faults[0].Expected)
	}
	return made, nil
}

// notTexts says what is there in the place of a map of strings, empty where it is one, or nothing.
func notTexts(node any) string {
	held, isMap := node.(map[string]any)
	switch node.(type) {
	case nil:
		return ""
	case []any:
		return "a list"
	}
	if !isMap {
		return shape(node)
	}
	for _, value := range held {
		if _, isText := value.(string); !isText {
			return "a map with other values"
		}
	}
	return ""
}
