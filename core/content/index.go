package content

import (
	"maps"
	"slices"
	"strings"

	"flotilla/core/api"
)

// Index holds the heads of all content, so that selecting by name, kind or namespace is a lookup. It is
// kept up to date with Set and Remove and is not safe for concurrent use. Heads must not be changed
// after they were given to Set.
type Index struct {
	heads       map[string]*api.Spec
	byKind      map[groupKind]map[string]*api.Spec
	byNamespace map[string]map[string]*api.Spec // without what is never selected
	reserved    map[string]bool
	changed     *changes // since it was cloned; nil of one that is no clone
}

// NewIndex returns an index that holds heads.
func NewIndex(heads ...api.Spec) *Index {
	x := &Index{
		heads:       map[string]*api.Spec{},
		byKind:      map[groupKind]map[string]*api.Spec{},
		byNamespace: map[string]map[string]*api.Spec{},
	}
	for i := range heads {
		x.Set(heads[i])
	}
	return x
}

// Reserve makes placements that select one of namespaces fail, as they do for those that Kubernetes and
// fleets reserve.
func (x *Index) Reserve(namespaces ...string) {
	x.reserved = map[string]bool{}
	for _, namespace := range namespaces {
		x.reserved[namespace] = true
	}
}

// Set adds head or replaces the one of the same object.
func (x *Index) Set(head api.Spec) {
	key := Key(head.Object)
	x.note(key, head.Object, &head)
	x.heads[key] = &head
	put(x.byKind, kindOf(head.Object), key, &head)
	switch {
	case head.Object.Namespace == "":
	case mayGo(&head):
		put(x.byNamespace, head.Object.Namespace, key, &head)
	default:
		drop(x.byNamespace, head.Object.Namespace, key)
	}
}

// RemoveKey forgets the object with that Key.
func (x *Index) RemoveKey(key string) {
	head, found := x.heads[key]
	if !found {
		return
	}
	x.note(key, head.Object, nil)
	delete(x.heads, key)
	drop(x.byKind, kindOf(head.Object), key)
	drop(x.byNamespace, head.Object.Namespace, key)
}

// Get returns the head of an object, whatever version ref names.
func (x *Index) Get(ref api.ObjectRef) (api.Spec, bool) {
	head, found := x.heads[Key(ref)]
	if !found {
		return api.Spec{}, false
	}
	return *head, true
}

// SizeOf is how many bytes the body of a manifest that is selected has at most, 0 when nothing is known of it.
func (x *Index) SizeOf(m *api.Manifest) int {
	if m.Envelope == "" {
		head, _ := x.Get(m.ObjectRef)
		return head.Size
	}
	head, _ := x.EnvelopeOf(m)
	for i := range head.Wrapped {
		if head.Wrapped[i].Digest == m.Digest {
			return head.Wrapped[i].Size
		}
	}
	return 0
}

// EnvelopeOf is the head of the envelope that a manifest lies in.
func (x *Index) EnvelopeOf(m *api.Manifest) (api.Spec, bool) {
	head, found := x.heads[envelopeKey(m.Envelope)]
	if !found {
		return api.Spec{}, false
	}
	return *head, true
}

// envelopeKey is the Key of an envelope that a manifest names.
func envelopeKey(name string) string {
	kind, name, _ := strings.Cut(name, "/")
	namespace := ""
	if space, below, found := strings.Cut(name, "/"); found {
		namespace, name = space, below
	}
	if kind == "ConfigMap" {
		return keyOf(groupKind{"", kind}, namespace, name)
	}
	return keyOf(groupKind{api.GroupPlacement, kind}, namespace, name)
}

// Len is the number of objects.
func (x *Index) Len() int { return len(x.heads) }

// Clone returns an independent index of the same heads, to try out changes on.
func (x *Index) Clone() *Index {
	clone := NewIndex()
	clone.reserved, clone.changed = x.reserved, changesOf(x)
	maps.Copy(clone.heads, x.heads)
	for gk, held := range x.byKind {
		clone.byKind[gk] = maps.Clone(held)
	}
	for namespace, held := range x.byNamespace {
		clone.byNamespace[namespace] = maps.Clone(held)
	}
	return clone
}

// find returns the selectable heads of a kind that lie in namespace ("" for none) and are wanted, sorted.
func (x *Index) find(gk groupKind, namespace string, want wanted) []*api.Spec {
	if want.name != "" {
		head, found := x.heads[keyOf(gk, namespace, want.name)]
		if !found || !x.selectable(head) {
			return nil
		}
		return []*api.Spec{head}
	}
	held := x.byKind[gk]
	if inside := x.byNamespace[namespace]; namespace != "" && len(inside) < len(held) {
		held = inside
	}
	return x.filter(held, func(head *api.Spec) bool {
		return head.Object.Namespace == namespace && kindOf(head.Object) == gk && want.labels.matches(head.Labels)
	})
}

// inside returns the selectable heads of all that lies in a namespace, sorted.
func (x *Index) inside(namespace string) []*api.Spec {
	return x.filter(x.byNamespace[namespace], func(*api.Spec) bool { return true })
}

func (x *Index) filter(held map[string]*api.Spec, keep func(*api.Spec) bool) []*api.Spec {
	keys := make([]string, 0, len(held))
	for key, head := range held {
		if keep(head) && x.selectable(head) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	found := make([]*api.Spec, len(keys))
	for i, key := range keys {
		found[i] = held[key]
	}
	return found
}

// selectable reports whether a placement may take the object at all.
func (x *Index) selectable(head *api.Spec) bool {
	if !mayGo(head) {
		return false
	}
	if kindOf(head.Object) == endpointsKind {
		service := head.Object
		service.Kind = "Service"
		_, owned := x.heads[Key(service)]
		return !owned
	}
	return true
}

// mayGo reports whether a placement may take the object, whatever else there is.
func mayGo(head *api.Spec) bool {
	return head.Deleted == nil && head.Excluded == "" && !neverSelected(kindOf(head.Object))
}

// inNamespace reports whether a kind lies in namespaces; of kinds that Kubernetes does not bring itself
// the objects held tell, and known is false when there is none.
func (x *Index) inNamespace(gk groupKind) (namespaced, known bool) {
	if namespaced, known = api.KindNamespaced(gk.group, gk.kind); known {
		return namespaced, true
	}
	for _, head := range x.byKind[gk] {
		return head.Object.Namespace != "", true
	}
	return false, false
}

func kindOf(ref api.ObjectRef) groupKind {
	return groupKind{group: GroupOf(ref.APIVersion), kind: ref.Kind}
}

func put[K comparable](index map[K]map[string]*api.Spec, at K, key string, head *api.Spec) {
	held := index[at]
	if held == nil {
		held = map[string]*api.Spec{}
		index[at] = held
	}
	held[key] = head
}

func drop[K comparable](index map[K]map[string]*api.Spec, at K, key string) {
	held := index[at]
	delete(held, key)
	if len(held) == 0 {
		delete(index, at)
	}
}
