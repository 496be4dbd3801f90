package validate

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/strict"
)

const maxSelectors = 100

// selectors checks what a placement selects.
func (fs rules) selectors(p *api.Placement, at *strict.Place) {
	all := p.Spec.ResourceSelectors
	switch {
	case len(all) == 0:
		fs.Add(at, "nothing", "at least one resource selector", nil)
	case len(all) > maxSelectors:
		fs.Add(at, fmt.Sprintf("a list of %d", len(all)), fmt.Sprintf("at most %d resource selectors", maxSelectors), nil)
	}
	fs.resourceRequirements(all, at)
	withSelectors := selectsInsideNamespace(all)
	for i := range all {
		fs.selector(p.Kind, &all[i], withSelectors, at.Item(i))
	}
	if withSelectors {
		fs.insideNamespace(all, at)
	}
	for i := range all[:min(len(all), maxSelectors)] {
		if withSelectors && isNamespace(&all[i]) {
			continue // said above
		}
		if j := slices.IndexFunc(all[:i], func(o api.ResourceSelector) bool { return always(&all[i], &o) }); j >= 0 {
			fs.Add(at.Item(i), all[i].String()+" again", "each object once; "+at.Item(j).String()+" selects it already", nil)
		}
	}
}

// resourceRequirements bounds what all selectors ask of an object together.
func (fs rules) resourceRequirements(all []api.ResourceSelector, at *strict.Place) {
	n := 0
	for i := range all {
		n += requirements(all[i].LabelSelector)
	}
	if n > maxResourceRequirements {
		fs.Add(at, fmt.Sprintf("selectors of %d requirements", n), fmt.Sprintf("at most %d in all", maxResourceRequirements), nil)
	}
}

// always reports whether an object that one of two selectors selects is always one of those of the other, so
// that nothing could ever be placed by both.
func always(r, other *api.ResourceSelector) bool {
	switch {
	case r.Group != other.Group || r.Kind != other.Kind || r.Kind == "":
		return false
	case r.Name != "" && other.Name != "":
		return r.Name == other.Name
	case selectsAll(r) || selectsAll(other):
		return true
	}
	return r.Name == other.Name && sameLabels(r.LabelSelector, other.LabelSelector)
}

// sameLabels says that two selectors are written alike.
func sameLabels(s, other *metav1.LabelSelector) bool {
	if s == nil || other == nil {
		return s == other
	}
	return maps.Equal(s.MatchLabels, other.MatchLabels) && slices.EqualFunc(s.MatchExpressions, other.MatchExpressions,
		func(e, o metav1.LabelSelectorRequirement) bool {
			return e.Key == o.Key && e.Operator == o.Operator && slices.Equal(e.Values, o.Values)
		})
}

// selectsAll says that the selector selects all objects of its kind.
func selectsAll(r *api.ResourceSelector) bool { return r.Name == "" && r.LabelSelector == nil }

func selectsInsideNamespace(all []api.ResourceSelector) bool {
	for i := range all {
		if all[i].SelectionScope == api.ScopeNamespaceWithResourceSelectors {
			return true
		}
	}
	return false
}

func isNamespace(r *api.ResourceSelector) bool { return r.Group == "" && r.Kind == "Namespace" }

func (fs rules) selector(kind string, r *api.ResourceSelector, withSelectors bool, at *strict.Place) {
	fs.selectedKind(kind, r, withSelectors, at)
	if r.Name != "" && r.LabelSelector != nil {
		fs.Add(at, "both name and labelSelector", "one of name and labelSelector, or neither for all objects of the kind", nil)
	}
	fs.labelSelector(r.LabelSelector, at.Child("labelSelector"))
	if r.SelectionScope == "" {
		return
	}
	scope := at.Child("selectionScope")
	if !fs.choice(r.SelectionScope, scope, api.ScopeNamespaceOnly, api.ScopeNamespaceWithResources, api.ScopeNamespaceWithResourceSelectors) {
		return
	}
	if !isNamespace(r) {
		fs.Add(scope, strict.Quote(r.SelectionScope), "no selectionScope: it is for kind Namespace only", nil)
	}
}

// selectedKind checks version and kind, and that the kind lies where the placement may select: outside
// namespaces for a ClusterResourcePlacement, inside them for a ResourcePlacement.
func (fs rules) selectedKind(kind string, r *api.ResourceSelector, withSelectors bool, at *strict.Place) {
	if r.Version == "" {
		fs.Add(at.Child("version"), "nothing", `the version of the kind, like "v1"`, nil)
	}
	if r.Kind == "" {
		fs.Add(at.Child("kind"), "nothing", "the kind of the objects to select", nil)
		return
	}
	namespaced, known := api.KindNamespaced(r.Group, r.Kind)
	if !known {
		return
	}
	switch {
	case kind == api.KindClusterResourcePlacement && namespaced && !withSelectors:
		fs.Add(at.Child("kind"), strict.Quote(r.Kind), "a kind outside namespaces; select the namespace to place what is in it, or use a ResourcePlacement", nil)
	case kind == api.KindResourcePlacement && !namespaced:
		fs.Add(at.Child("kind"), strict.Quote(r.Kind), "a kind inside the placement's namespace; use a ClusterResourcePlacement for others", nil)
	}
}

// insideNamespace checks the selectors of a placement of which one says
// NamespaceWithResourceSelectors: it stands alone, by name.
func (fs rules) insideNamespace(all []api.ResourceSelector, at *strict.Place) {
	seen := false
	for i := range all {
		r := &all[i]
		switch {
		case !isNamespace(r):
		case r.SelectionScope != api.ScopeNamespaceWithResourceSelectors:
			fs.Add(at.Item(i), "another selector of kind Namespace", "no other beside the one with selectionScope "+api.ScopeNamespaceWithResourceSelectors, nil)
		case seen:
			fs.Add(at.Item(i).Child("selectionScope"), strict.Quote(r.SelectionScope), "exactly one selector with it", nil)
		default:
			seen = true
			if r.Name == "" {
				fs.Add(at.Item(i).Child("name"), "nothing", "the name of one namespace, because selectionScope is "+r.SelectionScope, nil)
			}
		}
	}
}

// reportingScope checks where the status of a placement may be read.
func (fs rules) reportingScope(p *api.Placement, at *strict.Place) {
	scope := p.Spec.StatusReportingScope
	if scope == "" {
		return
	}
	if p.Kind == api.KindResourcePlacement {
		fs.Add(at, strict.Quote(scope), "nothing: only a ClusterResourcePlacement has it", nil)
		return
	}
	if !fs.choice(scope, at, api.StatusScopeCluster, api.StatusScopeNamespace) || scope != api.StatusScopeNamespace {
		return
	}
	namespaces := 0
	for i := range p.Spec.ResourceSelectors {
		if isNamespace(&p.Spec.ResourceSelectors[i]) {
			namespaces++
		}
	}
	if namespaces != 1 {
		fs.Add(at, strict.Quote(scope), fmt.Sprintf("exactly one resource selector of kind Namespace with it, not %d", namespaces), nil)
	}
}
