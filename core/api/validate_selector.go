package api

import (
	"fmt"
	"reflect"
	"slices"
)

const maxSelectors = 100

// selectors checks what a placement selects (placement.md 2.1 and 2.2).
func (fs rules) selectors(p *Placement, at *place) {
	all := p.Spec.ResourceSelectors
	switch {
	case len(all) == 0:
		fs.add(at, "nothing", "at least one resource selector", nil)
	case len(all) > maxSelectors:
		fs.add(at, fmt.Sprintf("a list of %d", len(all)), fmt.Sprintf("at most %d resource selectors", maxSelectors), nil)
	}
	withSelectors := selectsInsideNamespace(all)
	for i := range all {
		fs.selector(p.Kind, &all[i], withSelectors, at.item(i))
	}
	if withSelectors {
		fs.insideNamespace(all, at)
	}
	for i := range all[:min(len(all), maxSelectors)] {
		if withSelectors && isNamespace(&all[i]) {
			continue // said above
		}
		if j := slices.IndexFunc(all[:i], func(o ResourceSelector) bool { return always(&all[i], &o) }); j >= 0 {
			fs.add(at.item(i), all[i].String()+" again", "each object once; "+at.item(j).String()+" selects it already", nil)
		}
	}
}

// always reports whether an object that one of two selectors selects is always one of those of the other, so
// that nothing could ever be placed by both.
func always(r, other *ResourceSelector) bool {
	switch {
	case r.Group != other.Group || r.Kind != other.Kind || r.Kind == "":
		return false
	case r.Name != "" && other.Name != "":
		return r.Name == other.Name
	case selectsAll(r) || selectsAll(other):
		return true
	}
	return r.Name == other.Name && reflect.DeepEqual(r.LabelSelector, other.LabelSelector)
}

// selectsAll says that the selector selects all objects of its kind.
func selectsAll(r *ResourceSelector) bool { return r.Name == "" && r.LabelSelector == nil }

func selectsInsideNamespace(all []ResourceSelector) bool {
	for i := range all {
		if all[i].SelectionScope == ScopeNamespaceWithResourceSelectors {
			return true
		}
	}
	return false
}

func isNamespace(r *ResourceSelector) bool { return r.Group == "" && r.Kind == "Namespace" }

func (fs rules) selector(kind string, r *ResourceSelector, withSelectors bool, at *place) {
	fs.selectedKind(kind, r, withSelectors, at)
	if r.Name != "" && r.LabelSelector != nil {
		fs.add(at, "both name and labelSelector", "one of name and labelSelector, or neither for all objects of the kind", nil)
	}
	fs.labelSelector(r.LabelSelector, at.child("labelSelector"))
	if r.SelectionScope == "" {
		return
	}
	scope := at.child("selectionScope")
	if !fs.choice(r.SelectionScope, scope, ScopeNamespaceOnly, ScopeNamespaceWithResources, ScopeNamespaceWithResourceSelectors) {
		return
	}
	if !isNamespace(r) {
		fs.add(scope, quote(r.SelectionScope), "no selectionScope: it is for kind Namespace only", nil)
	}
}

// selectedKind checks version and kind, and that the kind lies where the placement may select: outside
// namespaces for a ClusterResourcePlacement, inside them for a ResourcePlacement.
func (fs rules) selectedKind(kind string, r *ResourceSelector, withSelectors bool, at *place) {
	if r.Version == "" {
		fs.add(at.child("version"), "nothing", `the version of the kind, like "v1"`, nil)
	}
	if r.Kind == "" {
		fs.add(at.child("kind"), "nothing", "the kind of the objects to select", nil)
		return
	}
	namespaced, known := KindNamespaced(r.Group, r.Kind)
	if !known {
		return
	}
	switch {
	case kind == KindClusterResourcePlacement && namespaced && !withSelectors:
		fs.add(at.child("kind"), quote(r.Kind), "a kind outside namespaces; select the namespace to place what is in it, or use a ResourcePlacement", nil)
	case kind == KindResourcePlacement && !namespaced:
		fs.add(at.child("kind"), quote(r.Kind), "a kind inside the placement's namespace; use a ClusterResourcePlacement for others", nil)
	}
}

// insideNamespace checks the selectors of a placement of which one says
// NamespaceWithResourceSelectors: it stands alone, by name.
func (fs rules) insideNamespace(all []ResourceSelector, at *place) {
	seen := false
	for i := range all {
		r := &all[i]
		switch {
		case !isNamespace(r):
		case r.SelectionScope != ScopeNamespaceWithResourceSelectors:
			fs.add(at.item(i), "another selector of kind Namespace", "no other beside the one with selectionScope "+ScopeNamespaceWithResourceSelectors, nil)
		case seen:
			fs.add(at.item(i).child("selectionScope"), quote(r.SelectionScope), "exactly one selector with it", nil)
		default:
			seen = true
			if r.Name == "" {
				fs.add(at.item(i).child("name"), "nothing", "the name of one namespace, because selectionScope is "+r.SelectionScope, nil)
			}
		}
	}
}

// reportingScope checks where the status of a placement may be read.
func (fs rules) reportingScope(p *Placement, at *place) {
	scope := p.Spec.StatusReportingScope
	if scope == "" {
		return
	}
	if p.Kind == KindResourcePlacement {
		fs.add(at, quote(scope), "nothing: only a ClusterResourcePlacement has it", nil)
		return
	}
	if !fs.choice(scope, at, StatusScopeCluster, StatusScopeNamespace) || scope != StatusScopeNamespace {
		return
	}
	namespaces := 0
	for i := range p.Spec.ResourceSelectors {
		if isNamespace(&p.Spec.ResourceSelectors[i]) {
			namespaces++
		}
	}
	if namespaces != 1 {
		fs.add(at, quote(scope), fmt.Sprintf("exactly one resource selector of kind Namespace with it, not %d", namespaces), nil)
	}
}
