package content

import (
	"fmt"
	"maps"
	"slices"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/core/strict"
)

var namespaceKind = groupKind{"", "Namespace"}

// Select returns what selectors take from the index, in apply order, each manifest with the digest of
// its stripped body. Namespace is empty for a ClusterResourcePlacement, else that of the
// ResourcePlacement. Versions in selectors are not compared: the hub does not convert objects.
//
// The error is strict.Faults, with paths from "spec.resourceSelectors[0]" on, or "metadata.namespace": reserved
// namespaces, kinds of the wrong scope, selectors that do not parse, objects that two selectors take.
func Select(selectors []api.ResourceSelector, namespace string, index *Index) ([]api.Manifest, error) {
	s := selection{index: index, namespace: namespace, inside: insideOf(selectors), takenBy: map[string]taken{}}
	if namespace != "" && index.isReserved(namespace) {
		s.faults = append(s.faults, strict.Fault{Path: "metadata.namespace", Found: "the reserved namespace " + namespace, Expected: notReserved})
	}
	for i := range selectors {
		s.follow(i, &selectors[i])
	}
	if err := s.faults.Err(); err != nil {
		return nil, err
	}
	return SortManifests(s.manifests), nil
}

// Unmatched says of each selector that takes nothing from the index that it does, and where that is. Selectors with faults
// are left to Select.
func Unmatched(selectors []api.ResourceSelector, namespace string, index *Index, where string) []string {
	var idle []string
	for i := range selectors {
		s := selection{index: index, namespace: namespace, inside: insideOf(selectors), takenBy: map[string]taken{}}
		s.follow(i, &selectors[i])
		if len(s.manifests)+len(s.faults) == 0 {
			idle = append(idle, selectors[i].SelectsNothing(i, where))
		}
	}
	return idle
}

// insideOf returns the namespace that selectors of namespaced kinds are limited to, "" without a
// selector of scope NamespaceWithResourceSelectors.
func insideOf(selectors []api.ResourceSelector) string {
	for i := range selectors {
		if selectors[i].SelectionScope == api.ScopeNamespaceWithResourceSelectors {
			return selectors[i].Name
		}
	}
	return ""
}

// selection is one run over all selectors of a placement.
type selection struct {
	index     *Index
	namespace string
	inside    string
	takenBy   map[string]taken
	manifests []api.Manifest
	faults    strict.Faults
}

func (s *selection) follow(i int, selector *api.ResourceSelector) {
	gk := groupKind{selector.Group, selector.Kind}
	if neverSelected(gk) {
		return
	}
	want, err := parse(selector)
	if err != nil {
		s.fault(i, ".labelSelector", err.Error(), "a valid label selector")
		return
	}
	switch {
	case s.namespace != "":
		s.takeNamespaced(i, gk, s.namespace, want)
	case gk == namespaceKind:
		s.takeNamespaces(i, selector, want)
	default:
		s.takeClusterWide(i, gk, want)
	}
}

// wanted says which objects of a kind a selector means: one by name, or those whose labels match.
type wanted struct {
	name   string
	labels matcher
}

func parse(selector *api.ResourceSelector) (wanted, error) {
	if selector.Name != "" {
		return wanted{name: selector.Name}, nil
	}
	parsed, err := matcherOf(selector.LabelSelector)
	return wanted{labels: parsed}, err
}

func (s *selection) takeNamespaced(i int, gk groupKind, namespace string, want wanted) {
	if inside, known := s.index.inNamespace(gk); known && !inside {
		s.fault(i, ".kind", gk.kind+", which lies outside namespaces",
			"a kind that lies in namespaces; a ClusterResourcePlacement selects the others")
		return
	}
	s.claim(i, s.index.find(gk, namespace, want))
}

func (s *selection) takeClusterWide(i int, gk groupKind, want wanted) {
	if inside, known := s.index.inNamespace(gk); known && inside {
		if s.inside != "" {
			s.takeNamespaced(i, gk, s.inside, want)
			return
		}
		s.fault(i, ".kind", gk.kind+", which lies in namespaces",
			"a kind outside namespaces, the Namespace that holds it, or a selector of the Namespace with "+
				"selectionScope: "+api.ScopeNamespaceWithResourceSelectors)
		return
	}
	s.claim(i, s.index.find(gk, "", want))
}

// takeNamespaces takes namespaces and, by default, all that lies in them. A reserved one is a fault
// whether the hub holds it or not.
func (s *selection) takeNamespaces(i int, selector *api.ResourceSelector, want wanted) {
	if s.index.isReserved(want.name) {
		s.faultReserved(i, ".name", want.name)
		return
	}
	for _, head := range s.index.find(namespaceKind, "", want) {
		name := head.Object.Name
		if s.index.isReserved(name) {
			s.faultReserved(i, ".name", name)
			continue
		}
		s.claim(i, []*api.Spec{head})
		if takesInside(selector) {
			s.claim(i, s.index.inside(name))
		}
	}
}

// takesInside says that a selector of namespaces takes all that lies in them.
func takesInside(selector *api.ResourceSelector) bool {
	return selector.SelectionScope == "" || selector.SelectionScope == api.ScopeNamespaceWithResources
}

// claim takes heads for selector i, what lies in them where they are envelopes; what another selector took is one
// fault, however many there are.
func (s *selection) claim(i int, heads []*api.Spec) {
	again := map[string][]string{}
	for _, head := range heads {
		for _, manifest := range placed(head) {
			key, by := Key(manifest.ObjectRef), taken{selector: i, envelope: manifest.Envelope}
			if first, twice := s.takenBy[key]; twice {
				does := first.does(by)
				again[does] = append(again[does], manifest.String())
				continue
			}
			s.takenBy[key] = by
			if s.fits(i, &manifest) {
				s.manifests = append(s.manifests, manifest)
			}
		}
	}
	for _, does := range slices.Sorted(maps.Keys(again)) {
		s.fault(i, "", fmt.Sprintf("%s, which %s too", phrase.Names(again[does], 1), does), "each object selected once")
	}
}

// placed are the manifests that stand for a head: its own, or of an envelope those of what lies in it.
func placed(head *api.Spec) []api.Manifest {
	if len(head.Wrapped) == 0 && !placeable[head.Object.Kind] {
		return []api.Manifest{{ObjectRef: head.Object, Digest: head.ManifestDigest()}}
	}
	all := make([]api.Manifest, len(head.Wrapped))
	for i := range head.Wrapped {
		all[i] = head.Wrapped[i].Manifest
	}
	return all
}

// fits says whether the placement may place what lies in an envelope: nothing outside its namespace, and no reserved one.
func (s *selection) fits(i int, manifest *api.Manifest) bool {
	switch {
	case manifest.Envelope == "":
	case s.namespace != "" && manifest.Namespace == "":
		s.fault(i, "", fmt.Sprintf("%s in %s, which lies outside namespaces", manifest, manifest.Envelope),
			"objects in namespace "+s.namespace+"; a ClusterResourcePlacement places the others")
		return false
	case kindOf(manifest.ObjectRef) == namespaceKind && s.index.isReserved(manifest.Name):
		s.faultReserved(i, "", manifest.Name+" in "+manifest.Envelope)
		return false
	}
	return true
}

// taken says what took an object: a selector, and the envelope that it lies in, if any.
type taken struct {
	selector int
	envelope string
}

// does says of what took an object before another did what it does with it.
func (t taken) does(other taken) string {
	switch {
	case t.envelope != "" && t.envelope != other.envelope:
		return t.envelope + " holds"
	case t.selector == other.selector:
		return "stands on the hub by itself"
	}
	return fmt.Sprintf("spec.resourceSelectors[%d] selects", t.selector)
}

func (s *selection) faultReserved(i int, field, namespace string) {
	s.fault(i, field, "the reserved namespace "+namespace, notReserved)
}

// notReserved is what a namespace of which something is placed must be.
const notReserved = `a namespace other than "default" and "flotilla-system", without the prefix "kube-" or "fleet-", and not among the hub's skippedNamespaces`

func (s *selection) fault(i int, field, found, expected string) {
	s.faults = append(s.faults, strict.Fault{
		Path: fmt.Sprintf("spec.resourceSelectors[%d]%s", i, field), Found: found, Expected: expected,
	})
}
