package content

import "flotilla/core/api"

// place is where an object lies that was set or removed: its kind, and its namespace, or its name where it lies in none.
type place struct {
	kind            groupKind
	namespace, name string
}

func (x *Index) note(head *api.Spec) {
	if x.changed == nil {
		return
	}
	at := place{kind: kindOf(head.Object), namespace: head.Object.Namespace}
	if at.namespace == "" {
		at.name = head.Object.Name
	}
	x.changed[at] = struct{}{}
}

// Concerns says whether what changed in a clone may change what selectors take from it; it says so too often rather than too
// seldom. Namespace is that of Select.
func (x *Index) Concerns(selectors []api.ResourceSelector, namespace string) bool {
	inside := namespace
	if inside == "" {
		inside = insideOf(selectors)
	}
	for i := range selectors {
		if x.concerns(&selectors[i], namespace, inside) {
			return true
		}
	}
	return false
}

func (x *Index) concerns(selector *api.ResourceSelector, namespace, inside string) bool {
	gk := groupKind{selector.Group, selector.Kind}
	if namespace == "" && gk == namespaceKind {
		return x.concernsNamespaces(selector)
	}
	namespaced, known := api.KindNamespaced(gk.group, gk.kind)
	for at := range x.changed {
		switch {
		case at.kind != gk && !owns(at.kind, gk):
		case !known: // a kind is known by its objects
			return true
		case namespaced && at.namespace == inside:
			return true
		case !namespaced && (selector.Name == "" || selector.Name == at.name):
			return true
		}
	}
	return false
}

// concernsNamespaces says that something changed in a namespace that a selector takes, or of a Namespace.
func (x *Index) concernsNamespaces(selector *api.ResourceSelector) bool {
	want, err := parse(selector)
	if err != nil {
		return false // it takes nothing whatever changes
	}
	for at := range x.changed {
		name := at.namespace
		if at.kind == namespaceKind {
			name = at.name
		}
		switch {
		case name == "":
		case want.name != "":
			if want.name == name {
				return true
			}
		case at.kind == namespaceKind:
			return true
		default:
			head, found := x.heads[keyOf(namespaceKind, "", name)]
			if found && want.labels.matches(head.Labels) {
				return true
			}
		}
	}
	return false
}

// owns says that objects of a kind decide whether those of another are placed.
func owns(kind, other groupKind) bool {
	return kind == groupKind{"", "Service"} && other == groupKind{"", "Endpoints"}
}
