package content

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/core/strict"
)

var namespaceKind = groupKind{"", "Namespace"}

// Select returns what selectors take from the index, in apply order, each manifest with the digest of
// its stripped body. Namespace is empty for a ClusterResourcePlacement, else that of the
// ResourcePlacement. Versions in selectors are not compared: the hub does not convert objects.
//
// The error is strict.Faults, with paths from "spec.resourceSelectors[0]" on: reserved namespaces, kinds of
// the wrong scope, selectors that do not parse, objects that two selectors take.
func Select(selectors []api.ResourceSelector, namespace string, index *Index) ([]api.Manifest, error) {
	s := selection{index: index, namespace: namespace, inside: insideOf(selectors), takenBy: map[string]int{}}
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
		s := selection{index: index, namespace: namespace, inside: insideOf(selectors), takenBy: map[string]int{}}
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
	takenBy   map[string]int
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
	labels labels.Selector
}

func parse(selector *api.ResourceSelector) (wanted, error) {
	if selector.Name != "" || selector.LabelSelector == nil {
		return wanted{name: selector.Name, labels: labels.Everything()}, nil
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector.LabelSelector)
	if err != nil {
		return wanted{}, fmt.Errorf("parsing: %w", err)
	}
	return wanted{labels: parsed}, nil
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
		s.faultReserved(i, want.name)
		return
	}
	for _, head := range s.index.find(namespaceKind, "", want) {
		name := head.Object.Name
		if s.index.isReserved(name) {
			s.faultReserved(i, name)
			continue
		}
		s.claim(i, []*api.Spec{head})
		if selector.SelectionScope == "" || selector.SelectionScope == api.ScopeNamespaceWithResources {
			s.claim(i, s.index.inside(name))
		}
	}
}

// claim takes heads for selector i; what another selector took is one fault, however many there are.
func (s *selection) claim(i int, heads []*api.Spec) {
	again := map[int][]string{}
	for _, head := range heads {
		key := Key(head.Object)
		if first, taken := s.takenBy[key]; taken {
			again[first] = append(again[first], head.Object.String())
			continue
		}
		s.takenBy[key] = i
		s.manifests = append(s.manifests, api.Manifest{ObjectRef: head.Object, Digest: head.ManifestDigest()})
	}
	for first := range i {
		names := again[first]
		if len(names) == 0 {
			continue
		}
		s.fault(i, "", fmt.Sprintf("%s, which spec.resourceSelectors[%d] selects too", phrase.Names(names, 1), first), "each object selected once")
	}
}

func (s *selection) faultReserved(i int, namespace string) {
	s.fault(i, ".name", "the reserved namespace "+namespace,
		`a namespace other than "default", without the prefix "kube-" or "fleet-", and not among the hub's skippedNamespaces`)
}

func (s *selection) fault(i int, field, found, expected string) {
	s.faults = append(s.faults, strict.Fault{
		Path: fmt.Sprintf("spec.resourceSelectors[%d]%s", i, field), Found: found, Expected: expected,
	})
}
