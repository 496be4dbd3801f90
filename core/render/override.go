package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/seal"
)

// Override is one override made ready to be followed. It is not changed.
type Override struct {
	Version api.OverrideVersion
	// Selectors name what it changes; those of a ResourceOverride lie in Namespace, which is empty for others.
	Selectors []api.OverrideSelector
	Namespace string
	// Placement is the only one it is for, nil for all.
	Placement *api.OverridePlacement
	rules     []rule
}

// rule is one rule made ready.
type rule struct {
	// none says that it matches no member, terms are ORed, and without any it matches all.
	none    bool
	terms   []labels.Selector
	deletes bool
	patches []patch
}

// patch is one operation made ready.
type patch struct {
	op     string
	path   string
	tokens []string
	value  any
	// variables are the keys of labels that the value asks for, and whether it asks for the name of the member.
	variables []string
	named     bool
}

// Read makes an override ready of its spec, whose body has all values in it.
func Read(spec *api.Spec) (*Override, error) {
	out, rules, err := opened(spec)
	if err != nil {
		return nil, err
	}
	out.rules = make([]rule, len(rules))
	for i := range rules {
		if out.rules[i], err = ready(&rules[i]); err != nil {
			return nil, fmt.Errorf("reading %s: spec.policy.overrideRules[%d]: %w", spec.Object, i, err)
		}
	}
	return out, nil
}

// Head is an override without its rules: what it changes, and for which placement. Nothing of their values is read.
func Head(spec *api.Spec) (*Override, error) {
	out, _, err := opened(spec)
	return out, err
}

// HeadOf is the head of an override as a document has it; nil of anything else.
func HeadOf(object api.ObjectRef, value any) *Override {
	switch o := value.(type) {
	case *api.ResourceOverride:
		return headed(&api.Spec{Object: object}, o.Spec.Placement, o.Spec.ResourceSelectors)
	case *api.ClusterResourceOverride:
		return headed(&api.Spec{Object: object}, o.Spec.Placement.Any(), o.Spec.ClusterResourceSelectors)
	}
	return nil
}

func opened(spec *api.Spec) (*Override, []api.OverrideRule, error) {
	if spec.Object.Kind == api.KindResourceOverride {
		o, err := api.SpecOf[api.ResourceOverride](spec)
		if err != nil {
			return nil, nil, err
		}
		return headed(spec, o.Spec.Placement, o.Spec.ResourceSelectors), o.Spec.Policy.OverrideRules, nil
	}
	o, err := api.SpecOf[api.ClusterResourceOverride](spec)
	if err != nil {
		return nil, nil, err
	}
	return headed(spec, o.Spec.Placement.Any(), o.Spec.ClusterResourceSelectors), o.Spec.Policy.OverrideRules, nil
}

func headed(spec *api.Spec, placement *api.OverridePlacement, selectors []api.OverrideSelector) *Override {
	return &Override{
		Version: api.OverrideVersion{
			Name: api.Keyed(spec.Object.Namespace, spec.Object.Name), UID: spec.UID, Generation: spec.Generation, AtOnce: placement != nil,
		},
		Selectors: selectors, Namespace: spec.Object.Namespace, Placement: placement,
	}
}

// ReadHidden is Read for whoever may not see values of Secrets, see content.Hide.
func ReadHidden(spec *api.Spec, keys *seal.Keyring) (*Override, error) {
	var tree map[string]any
	if err := kjson.Unmarshal(spec.Body, &tree); err != nil {
		return nil, fmt.Errorf("decoding %s: %w", spec.Object, err)
	}
	content.Hide(tree, keys)
	body, err := json.Marshal(tree)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", spec.Object, err)
	}
	shown := *spec
	shown.Body = body
	return Read(&shown)
}

// All are the overrides that can be read of what is stored; read gives the name too. One that cannot, or that broken names, is left out where a
// placement was rendered without it; else what is gone of it is not known, and it is an error.
func All[E any](stored []E, broken map[string]error, rendered *api.Rendered, read func(*E) (string, *Override, error)) ([]*Override, error) {
	wrong := map[string]error{}
	maps.Copy(wrong, broken)
	var all []*Override
	for i := range stored {
		name, o, err := read(&stored[i])
		if err != nil {
			wrong[name] = err
			continue
		}
		all = append(all, o)
	}
	for i := range rendered.Overrides {
		if name := rendered.Overrides[i].Name; wrong[name] != nil {
			return nil, fmt.Errorf("%s cannot be read: %w", api.OverrideName(name), wrong[name])
		}
	}
	return all, nil
}

func ready(r *api.OverrideRule) (out rule, err error) {
	out.none, out.deletes = r.ClusterSelector == nil, r.Deletes()
	if !out.none {
		for _, term := range r.ClusterSelector.ClusterSelectorTerms {
			parsed, err := selectorOf(term.LabelSelector)
			if err != nil {
				return out, err
			}
			out.terms = append(out.terms, parsed)
		}
	}
	for i := range r.JSONPatchOverrides {
		given := &r.JSONPatchOverrides[i]
		p := patch{op: given.Op, path: given.Path, tokens: tokensOf(given.Path)}
		if given.Value != nil {
			if err := kjson.Unmarshal(given.Value.Raw, &p.value); err != nil {
				return out, fmt.Errorf("jsonPatchOverrides[%d].value is no JSON", i)
			}
			p.variables, p.named = variablesOf(string(given.Value.Raw))
		}
		out.patches = append(out.patches, p)
	}
	return out, nil
}

// selectorOf matches nothing where there is none: the door lets no term through without.
func selectorOf(s *metav1.LabelSelector) (labels.Selector, error) {
	parsed, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return nil, fmt.Errorf("a label selector cannot be read: %w", err)
	}
	return parsed, nil
}

func (r *rule) matches(set labels.Set) bool {
	if r.none {
		return false
	}
	return len(r.terms) == 0 || slices.ContainsFunc(r.terms, func(s labels.Selector) bool { return s.Matches(set) })
}

// For says whether the override is for a placement, by the key of that.
func (o *Override) For(placement string) bool {
	switch p := o.Placement; {
	case p == nil:
		return true
	case p.Scope == api.OverrideScopeNamespaced:
		return placement == o.Namespace+"/"+p.Name
	default:
		return placement == p.Name
	}
}

// String is "ResourceOverride/shop/eu".
func (o *Override) String() string { return api.OverrideName(o.Version.Name) }

// selects says whether the override changes an object: one that it names, or that lies in a Namespace that it names.
func (o *Override) selects(ref api.ObjectRef) bool {
	group := content.GroupOf(ref.APIVersion)
	return slices.ContainsFunc(o.Selectors, func(s api.OverrideSelector) bool {
		if s.Group == group && s.Kind == ref.Kind && s.Name == ref.Name && o.Namespace == ref.Namespace {
			return true
		}
		return o.Namespace == "" && s.Group == "" && s.Kind == "Namespace" && s.Name == ref.Namespace
	})
}

// Touching are those of overrides that are for a placement and change objects of its snapshot, in the order in which they
// are followed.
func Touching(placement string, manifests []api.Manifest, all []*Override) []*Override {
	var out []*Override
	for _, o := range all {
		if o.For(placement) && slices.ContainsFunc(manifests, func(m api.Manifest) bool { return o.selects(m.ObjectRef) }) {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *Override) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Version.Name, b.Version.Name))
	})
	return out
}

// Versions are those of overrides, in their order.
func Versions(all []*Override) []api.OverrideVersion {
	var out []api.OverrideVersion
	for _, o := range all {
		out = append(out, o.Version)
	}
	return out
}
