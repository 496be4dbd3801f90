package content_test

import (
	"fmt"
	"math/rand/v2"
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
	document := func() string {
		labels := fmt.Sprintf("labels: {team: %s, app: %s}", pick("web", "db"), pick("shop", "blog"))
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
		before := indexOf(t, documents...)
		after := before.Clone()
		for range 1 + random.IntN(2) {
			made, err := content.New(object(t, document()), keys)
			require.NoError(t, err)
			if random.IntN(3) == 0 {
				after.RemoveKey(content.Key(made.Head.Object))
			} else {
				after.Set(made.Head)
			}
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
	owned := indexOf(t, hub...).Clone()
	made, err := content.New(object(t, `{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}}`), keys)
	require.NoError(t, err)
	owned.Set(made.Head)
	require.True(t, owned.Concerns([]api.ResourceSelector{{Version: "v1", Kind: "Endpoints"}}, "shop"), "a Service makes Endpoints")
	require.False(t, owned.Concerns([]api.ResourceSelector{{Version: "v1", Kind: "Endpoints"}}, "blog"))
	require.False(t, indexOf(t, hub...).Clone().Concerns([]api.ResourceSelector{{Version: "v1", Kind: "Namespace"}}, ""), "nothing changed")
}
