package content

import "flotilla/core/api"

// Ground is where a selector looks for objects that it does not name: at those of a kind, in one namespace or in none.
type Ground struct {
	kind      groupKind
	namespace string
}

// String names the ground for people.
func (g Ground) String() string {
	name := g.kind.kind
	if g.kind.group != "" {
		name += "." + g.kind.group
	}
	if g.namespace != "" {
		name += " in namespace " + g.namespace
	}
	return name
}

// Looks is how often selectors look at each object of a ground: once for each requirement, and once where there is none. What lies
// in namespaces that they take is not among it: they take all that they look at there. Namespace is that of Select.
func Looks(selectors []api.ResourceSelector, namespace string) map[Ground]int {
	looks := map[Ground]int{}
	inside := insideOf(selectors)
	for i := range selectors {
		s := &selectors[i]
		gk := groupKind{s.Group, s.Kind}
		if s.Name != "" || neverSelected(gk) {
			continue
		}
		at := Ground{gk, namespace}
		namespaced, known := api.KindNamespaced(gk.group, gk.kind)
		switch {
		case namespace == "" && (namespaced || !known):
			at.namespace = inside
		case known && !namespaced && namespace != "":
			continue // a fault
		}
		if namespaced && at.namespace == "" {
			continue // a fault too
		}
		looks[at] += max(1, requirements(s))
	}
	return looks
}

func requirements(s *api.ResourceSelector) int {
	if s.LabelSelector == nil {
		return 0
	}
	return len(s.LabelSelector.MatchLabels) + len(s.LabelSelector.MatchExpressions)
}

// Extent is how many objects a selector looks at on a ground, one at least, as it is asked where there is none: before, of a clone, is
// how many it would have when it was made.
func (x *Index) Extent(g Ground) (now, before int) {
	now, before = x.extent(g)
	return max(1, now), max(1, before)
}

func (x *Index) extent(g Ground) (now, before int) {
	kind, namespace := len(x.byKind[g.kind]), len(x.byNamespace[g.namespace])
	kindBefore, namespaceBefore := kind, namespace
	if x.changed != nil {
		kindBefore, namespaceBefore = x.changed.kinds[g.kind], x.changed.namespaces[g.namespace]
	}
	if g.namespace == "" {
		return kind, kindBefore
	}
	if inside, known := x.inNamespace(g.kind); known && !inside {
		return kind, kindBefore
	}
	return min(kind, namespace), min(kindBefore, namespaceBefore)
}

// Added says that a clone has an object that it had not when it was made.
func (x *Index) Added() bool { return x.changed != nil && x.changed.added }
