//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"flotilla/tests/e2e/lab"
)

// restless come and go by themselves.
var restless = []string{"events", "leases", "componentstatuses", "endpoints", "endpointslices", "ipaddresses"}

// published is what a controller puts into every namespace, now and then into one that is just gone, where it stays.
const published = "kube-root-ca.crt"

// imprint is everything that a cluster holds, but for what is restless or about to go: each object by kind and name, with
// what others could have put on it.
func imprint(t *testing.T, c *lab.Cluster) map[string]string {
	t.Helper()
	lists, err := c.Clients().Discovery().ServerPreferredResources()
	require.NoError(t, err)
	client, err := dynamic.NewForConfig(c.Config())
	require.NoError(t, err)
	going := map[string]bool{}
	namespaces, err := c.Clients().CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for _, n := range namespaces.Items {
		going[n.Name] = strings.HasPrefix(n.Name, "test-") || n.Status.Phase == corev1.NamespaceTerminating && n.Name != system
	}
	found := map[string]string{}
	kinds, err := discovery.GroupVersionResources(discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "get"}}, lists))
	require.NoError(t, err)
	for kind := range kinds {
		if slices.Contains(restless, kind.Resource) {
			continue
		}
		all, err := client.Resource(kind).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err, kind)
		for _, o := range all.Items {
			if o.GetName() == published || going[o.GetNamespace()] || kind.Resource == "namespaces" && going[o.GetName()] {
				continue
			}
			found[fmt.Sprintf("%s %s/%s", kind.GroupResource(), o.GetNamespace(), o.GetName())] = marks(&o)
		}
	}
	return found
}

// marks are what an agent could leave on an object of others.
func marks(o *unstructured.Unstructured) string {
	taints, _, _ := unstructured.NestedSlice(o.Object, "spec", "taints")
	return fmt.Sprint(o.GetUID(), o.GetLabels(), o.GetAnnotations(), o.GetFinalizers(), taints)
}

// compare names what differs.
func compare(before, after map[string]string) error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(after)) {
		switch was, there := before[name]; {
		case !there:
			faults = append(faults, fmt.Errorf("%s was left behind", name))
		case was != after[name]:
			faults = append(faults, fmt.Errorf("%s was %s, is %s", name, was, after[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, there := after[name]; !there {
			faults = append(faults, fmt.Errorf("%s is gone", name))
		}
	}
	return errors.Join(faults...)
}
