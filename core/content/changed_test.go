package content_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/content"
)

// A change that does not concern a placement changes nothing of what it selects, nor of why it selects nothing.
func TestWhatConcernsNobodyChangesNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(29, 0))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	serial := 0
	document := func() string {
		serial++
		labels := fmt.Sprintf("labels: {team: %s, app: %s, serial: s%d}", pick("web", "db"), pick("shop", "blog"), serial)
		namespace, name := pick("shop", "blog", "data"), pick("a", "b")
		switch random.IntN(6) {
		case 0:
			return fmt.Sprintf(`{apiVersion: v1, kind: Namespace, metadata: {name: %s, %s}}`, namespace, labels)
		case 1:
			return fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: %s, %s}}`, name, labels)
		case 2:
			return fmt.Sprintf(`{apiVersion: example.com/v1, kind: Realm, metadata: {name: %s, %s}}`, name, labels)
		}
		return fmt.Sprintf(`{apiVersion: %s, metadata: {name: %s, namespace: %s, %s}}`,
			pick("v1, kind: ConfigMap", "v1, kind: Service", "v1, kind: Endpoints", "apps/v1, kind: Deployment", "example.com/v1, kind: Widget"), name, namespace, labels)
	}
	selector := func() api.ResourceSelector {
		kinds := []api.ResourceSelector{
			{Kind: "Namespace", Version: "v1"},
			{Kind: "Namespace", Version: "v1"},
			{Kind: "ConfigMap", Version: "v1"},
			{Kind: "Endpoints", Version: "v1"},
			{Group: "apps", Kind: "Deployment", Version: "v1"},
			{Group: "example.com", Kind: "Widget", Version: "v1"},
			{Group: "example.com", Kind: "Realm", Version: "v1"},
			{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Version: "v1"},
		}
		s := kinds[random.IntN(len(kinds))]
		switch random.IntN(3) {
		case 0:
			s.Name = pick("a", "b")
			if s.Kind == "Namespace" {
				s.Name = pick("shop", "blog", "data")
			}
		case 1:
			s.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{pick("team", "app"): pick("web", "db", "shop", "blog")}}
			if random.IntN(2) == 0 {
				s.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
					{Key: pick("team", "app", "none"), Operator: metav1.LabelSelectorOperator(pick("Exists", "DoesNotExist"))},
					{Key: pick("team", "app", "none"), Operator: metav1.LabelSelectorOperator(pick("In", "NotIn")), Values: []string{pick("web", "db"), pick("shop", "blog")}},
				}}
			}
		}
		if s.Kind == "Namespace" {
			s.SelectionScope = pick("", "", api.ScopeNamespaceOnly, api.ScopeNamespaceWithResourceSelectors)
		}
		return s
	}
	concerned, idle := 0, 0
	for range 2000 {
		var documents []string
		for range random.IntN(12) {
			documents = append(documents, document())
		}
		head := func(document string) api.Spec {
			made, err := content.New(object(t, document), keys)
			require.NoError(t, err)
			switch random.IntN(8) {
			case 0:
				made.Head.Deleted = &metav1.Time{}
			case 1:
				made.Head.Excluded = "Managed"
			}
			return made.Head
		}
		before := content.NewIndex()
		for i := range documents {
			before.Set(head(documents[i]))
		}
		after := before.Clone()
		for range []int{1, 1, 2, 3, 12}[random.IntN(5)] {
			if one := head(document()); random.IntN(3) == 0 {
				after.RemoveKey(content.Key(one.Object))
			} else {
				after.Set(one)
			}
			after.Concerns([]api.ResourceSelector{selector(), selector()}, pick("", "shop")) // whoever asked before changes nothing
		}
		selectors, namespace := []api.ResourceSelector{selector(), selector()}, pick("", "", "shop")
		if after.Concerns(selectors, namespace) {
			concerned++
			continue
		}
		idle++
		was, wasFault := content.Select(selectors, namespace, before)
		is, fault := content.Select(selectors, namespace, after)
		require.Equal(t, was, is, "%+v in %q", selectors, namespace)
		require.Equal(t, wasFault, fault, "%+v in %q", selectors, namespace)
	}
	require.Greater(t, concerned, 200)
	require.Greater(t, idle, 200)
	owned := indexOf(t, append(slices.Clone(hub), `{apiVersion: v1, kind: Endpoints, metadata: {name: web, namespace: shop}}`)...).Clone()
	service, err := content.New(object(t, `{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}}`), keys)
	require.NoError(t, err)
	owned.Set(service.Head)
	require.True(t, owned.Concerns([]api.ResourceSelector{{Version: "v1", Kind: "Endpoints"}}, "shop"), "a Service makes Endpoints")
	require.False(t, owned.Concerns([]api.ResourceSelector{{Version: "v1", Kind: "Endpoints"}}, "blog"))
	going := indexOf(t, append(slices.Clone(hub), `{apiVersion: v1, kind: Endpoints, metadata: {name: web, namespace: shop}}`)...)
	service.Head.Deleted = &metav1.Time{}
	going.Set(service.Head)
	gone := going.Clone()
	gone.RemoveKey(content.Key(service.Head.Object))
	require.True(t, gone.Concerns([]api.ResourceSelector{{Version: "v1", Kind: "Namespace", Name: "shop"}}, ""), "Endpoints are nobody's once a Service has gone")
	require.False(t, indexOf(t, hub...).Clone().Concerns([]api.ResourceSelector{{Version: "v1", Kind: "Namespace"}}, ""), "nothing changed")
}

// Whether a change concerns a placement is decided by the objects that changed alone, and as by looking at all: each object that is
// set here is another one than before (H48).
func TestWhatConcernsAPlacementIsWhatItSelects(t *testing.T) {
	random := rand.New(rand.NewPCG(48, 0))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	serial := 0
	set := func(index *content.Index) {
		serial++
		labels := fmt.Sprintf("labels: {team: %s, app: %s, serial: s%d}", pick("web", "db"), pick("shop", "blog"), serial)
		namespace, name := pick("shop", "blog", "data"), pick("a", "b", "c")
		made, err := content.New(object(t, []string{
			fmt.Sprintf(`{apiVersion: v1, kind: Namespace, metadata: {name: %s, %s}}`, namespace, labels),
			fmt.Sprintf(`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: %s, %s}}`, name, labels),
			fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: %s, %s}}`, name, namespace, labels),
			fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: %s, %s}}`, name, namespace, labels),
		}[random.IntN(4)]), keys)
		require.NoError(t, err)
		if index.Set(made.Head); random.IntN(3) == 0 {
			index.RemoveKey(content.Key(made.Head.Object))
		}
	}
	var long []string
	for i := range 40 {
		long = append(long, fmt.Sprint("s", i*100))
	}
	wanting := func(s api.ResourceSelector, names ...string) api.ResourceSelector {
		key := pick("team", "app", "none")
		switch s.Version = "v1"; random.IntN(8) {
		case 0:
			s.Name = pick(names...)
		case 1:
			s.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{key: pick("web", "shop")}}
		case 2:
			s.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "serial", Operator: metav1.LabelSelectorOperator(pick("In", "NotIn")), Values: long}}}
		case 3, 4, 5, 6:
			s.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: key, Operator: metav1.LabelSelectorOperator(pick("Exists", "DoesNotExist"))},
				{Key: pick("team", "app", "none"), Operator: metav1.LabelSelectorOperator(pick("In", "NotIn")), Values: []string{pick("web", "db"), pick("shop", "blog")}},
			}}
		}
		return s
	}
	decided := map[bool]int{}
	for range 3000 {
		before := content.NewIndex()
		for range random.IntN(20) {
			set(before)
		}
		after := before.Clone()
		for range []int{1, 1, 2, 20}[random.IntN(4)] {
			set(after)
		}
		selectors, namespace := []api.ResourceSelector{wanting(api.ResourceSelector{Kind: "ConfigMap"}, "a", "b", "c")}, "shop"
		switch random.IntN(4) {
		case 0:
			namespace, selectors = "", append(selectors, api.ResourceSelector{Version: "v1", Kind: "Namespace", Name: "blog", SelectionScope: api.ScopeNamespaceWithResourceSelectors})
		case 1:
			namespace, selectors = "", []api.ResourceSelector{wanting(api.ResourceSelector{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}, "a", "b", "c")}
		case 2:
			namespace, selectors = "", []api.ResourceSelector{wanting(api.ResourceSelector{Kind: "Namespace", SelectionScope: pick("", api.ScopeNamespaceOnly)}, "shop", "blog", "data")}
		}
		was, err := content.Select(selectors, namespace, before)
		require.NoError(t, err)
		is, err := content.Select(selectors, namespace, after)
		require.NoError(t, err)
		concerned := after.Concerns(selectors, namespace)
		require.Equal(t, !slices.Equal(was, is), concerned, "%+v in %q", selectors, namespace)
		decided[concerned]++
	}
	require.Greater(t, decided[true], 500)
	require.Greater(t, decided[false], 500)
}

// What follows from a change is worked out once, whatever asks for it (H56).
func TestWhatFollowsFromAChangeIsWorkedOutOnce(t *testing.T) {
	documents := []string{`{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`}
	for i := range 40 {
		documents = append(documents,
			fmt.Sprintf(`{apiVersion: v1, kind: Endpoints, metadata: {name: s%d, namespace: shop}}`, i),
			fmt.Sprintf(`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w%d, namespace: shop}}`, i),
			fmt.Sprintf(`{apiVersion: v1, kind: Namespace, metadata: {name: n%d, labels: {team: web}}}`, i))
	}
	index := indexOf(t, documents...).Clone()
	for i := range 40 {
		for _, document := range []string{
			fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {name: s%d, namespace: shop}}`, i),
			fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: n%d}}`, i),
			fmt.Sprintf(`{apiVersion: example.com/v1, kind: Gadget, metadata: {name: g%d, namespace: n%d}}`, i, i),
		} {
			made, err := content.New(object(t, document), keys)
			require.NoError(t, err)
			index.Set(made.Head)
		}
	}
	labelled := &metav1.LabelSelector{MatchLabels: map[string]string{"team": "none"}}
	for name, c := range map[string]struct {
		namespace string
		selector  api.ResourceSelector
		most      float64
	}{
		"Endpoints":           {"shop", api.ResourceSelector{Version: "v1", Kind: "Endpoints", LabelSelector: labelled}, 20},
		"Endpoints by name":   {"shop", api.ResourceSelector{Version: "v1", Kind: "Endpoints", Name: "none"}, 20},
		"Namespaces":          {"", api.ResourceSelector{Version: "v1", Kind: "Namespace", LabelSelector: labelled}, 20},
		"a kind of somebody":  {"shop", api.ResourceSelector{Group: "example.com", Version: "v1", Kind: "Widget", LabelSelector: labelled}, 20},
		"a kind that is none": {"shop", api.ResourceSelector{Group: "example.com", Version: "v1", Kind: "Thing"}, 20},
	} {
		require.False(t, index.Concerns([]api.ResourceSelector{c.selector}, c.namespace), name)
		allocations := testing.AllocsPerRun(3, func() { index.Concerns([]api.ResourceSelector{c.selector}, c.namespace) })
		require.LessOrEqual(t, allocations, c.most, name)
	}
	require.True(t, index.Concerns([]api.ResourceSelector{{Version: "v1", Kind: "Endpoints"}}, "shop"))
	require.True(t, index.Concerns([]api.ResourceSelector{{Version: "v1", Kind: "Endpoints", Name: "s1"}}, "shop"))
	require.True(t, index.Concerns([]api.ResourceSelector{{Version: "v1", Kind: "Namespace"}}, ""))
	require.True(t, index.Concerns([]api.ResourceSelector{{Group: "example.com", Version: "v1", Kind: "Gadget"}}, "blog"))
}
