package content

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

var serviceKind, endpointsKind = groupKind{"", "Service"}, groupKind{"", "Endpoints"}

// changes are what became of the objects of a clone.
type changes struct {
	of map[string]*change // by key
	at map[Ground][]*change
	// inside is how much changed in each namespace that decides what a placement takes of it.
	inside map[string]int
	// kinds and namespaces are how many objects there were.
	kinds      map[groupKind]int
	namespaces map[string]int
	// added says that there is an object that there was not.
	added bool
	// derived is what follows from all that, whatever asks for it; nil until something does, and after each change.
	derived *derived
}

// change is what there was of an object, and what there is now; nil for nothing.
type change struct{ before, after *api.Spec }

func changesOf(x *Index) *changes {
	c := &changes{
		of: map[string]*change{}, at: map[Ground][]*change{}, inside: map[string]int{},
		kinds: make(map[groupKind]int, len(x.byKind)), namespaces: make(map[string]int, len(x.byNamespace)),
	}
	for gk, held := range x.byKind {
		c.kinds[gk] = len(held)
	}
	for namespace, held := range x.byNamespace {
		c.namespaces[namespace] = len(held)
	}
	return c
}

// note notes what becomes of an object before it does.
func (x *Index) note(key string, ref api.ObjectRef, now *api.Spec) {
	if x.changed == nil {
		return
	}
	x.changed.derived = nil
	c, again := x.changed.of[key]
	switch inside := x.changed.inside; {
	case again && ref.Namespace != "" && c.any(mayMatter):
		if inside[ref.Namespace]--; inside[ref.Namespace] == 0 {
			delete(inside, ref.Namespace)
		}
	case !again:
		c = &change{before: x.heads[key]}
		x.changed.of[key] = c
		at := Ground{kindOf(ref), ref.Namespace}
		x.changed.at[at] = append(x.changed.at[at], c)
		x.changed.added = x.changed.added || c.before == nil
	}
	c.after = now
	if ref.Namespace != "" && c.any(mayMatter) {
		x.changed.inside[ref.Namespace]++
	}
}

// mayMatter says that what lies in a namespace may be other objects for this one: a Service keeps its Endpoints from being taken, also while it
// goes.
func mayMatter(head *api.Spec) bool { return mayGo(head) || kindOf(head.Object) == serviceKind }

// any says that something is so of what there was, or of what there is.
func (c *change) any(so func(*api.Spec) bool) bool {
	return c.before != nil && so(c.before) || c.after != nil && so(c.after)
}

// Concerns says whether what changed in a clone may change what selectors take from it. Each object that changed is asked, as
// it was and as it is, and no other; it says so too often rather than too seldom. Namespace is that of Select.
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
	switch {
	case neverSelected(gk):
		return false
	case namespace == "" && gk == namespaceKind:
		return x.concernsNamespaces(selector)
	}
	namespaced, known := api.KindNamespaced(gk.group, gk.kind)
	if !known {
		became := x.becameOf(gk)
		if !became.settled {
			return became.changed
		}
		namespaced = became.namespaced
	}
	switch {
	case namespaced && inside != "":
		return x.asks(selector, Ground{gk, inside})
	case !namespaced && namespace == "":
		return x.asks(selector, Ground{kind: gk})
	}
	return false // a fault, whatever changes
}

// concernsNamespaces says that something changed in a namespace that a selector takes with what lies in it, or a Namespace that
// it takes.
func (x *Index) concernsNamespaces(selector *api.ResourceSelector) bool {
	if x.asks(selector, Ground{kind: namespaceKind}) {
		return true
	}
	if !takesInside(selector) || len(x.changed.inside) == 0 {
		return false
	}
	if selector.Name != "" {
		_, found := x.heads[keyOf(namespaceKind, "", selector.Name)]
		return found && x.changed.inside[selector.Name] > 0
	}
	return anyTaken(selector, x.inhabited())
}

// asks says that a selector takes one of what changed on a ground, as it was or as it is.
func (x *Index) asks(selector *api.ResourceSelector, at Ground) bool {
	if selector.Name != "" {
		return x.asksOne(at, selector.Name)
	}
	return anyTaken(selector, x.changedAt(at))
}

// asksOne is asks of a selector that names what it takes.
func (x *Index) asksOne(at Ground, name string) bool {
	key := keyOf(at.kind, at.namespace, name)
	if c := x.changed.of[key]; c != nil && c.any(mayGo) {
		return true
	}
	if at.kind != endpointsKind || x.changed.of[keyOf(serviceKind, at.namespace, name)] == nil {
		return false
	}
	head := x.heads[key]
	return head != nil && mayGo(head)
}

// fewChanged is of how many objects a selector is asked without being read first, which costs as much as it lists.
const fewChanged = 8

// anyTaken says that a selector by labels takes one of what changed, as it was or as it is.
func anyTaken(selector *api.ResourceSelector, changed []*change) bool {
	selects := func(head *api.Spec) bool { return maySelect(selector.LabelSelector, head.Labels) }
	if len(changed) > fewChanged {
		want, err := parse(selector)
		if err != nil {
			return false // it takes nothing, whatever changes
		}
		selects = func(head *api.Spec) bool { return want.labels.matches(head.Labels) }
	}
	for _, one := range changed {
		if one.any(func(head *api.Spec) bool { return mayGo(head) && selects(head) }) {
			return true
		}
	}
	return false
}

// maySelect says whether a selector selects what has these labels; one that cannot be read may.
func maySelect(s *metav1.LabelSelector, set map[string]string) bool {
	if s == nil {
		return true
	}
	for key, value := range s.MatchLabels {
		if held, has := set[key]; !has || held != value {
			return false
		}
	}
	for i := range s.MatchExpressions {
		if !mayMeet(&s.MatchExpressions[i], set) {
			return false
		}
	}
	return true
}

func mayMeet(e *metav1.LabelSelectorRequirement, set map[string]string) bool {
	value, has := set[e.Key]
	switch e.Operator {
	case metav1.LabelSelectorOpIn:
		return has && slices.Contains(e.Values, value)
	case metav1.LabelSelectorOpNotIn:
		return !has || !slices.Contains(e.Values, value)
	case metav1.LabelSelectorOpExists:
		return has
	case metav1.LabelSelectorOpDoesNotExist:
		return !has
	}
	return true
}
