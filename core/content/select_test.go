package content_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/strict"
)

// hub is content that every rule of selection can be tried on.
var hub = []string{
	`{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {team: web}}}`,
	`{apiVersion: v1, kind: Namespace, metadata: {name: blog, labels: {team: web}}}`,
	`{apiVersion: v1, kind: Namespace, metadata: {name: data, labels: {team: db}}}`,
	`{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop, labels: {app: shop}}}`,
	`{apiVersion: v1, kind: ConfigMap, metadata: {name: flags, namespace: shop}}`,
	`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, labels: {app: shop}}}`,
	`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: disk, namespace: data}}`,
	`{apiVersion: v1, kind: Secret, metadata: {name: key, namespace: data}}`,
	`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: reader, labels: {team: web}}}`,
	`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: writer}}`,
	`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: shop}}`,
	`{apiVersion: example.com/v1, kind: Realm, metadata: {name: r}}`,
}

func indexOf(t *testing.T, documents ...string) *content.Index {
	t.Helper()
	index := content.NewIndex()
	for _, document := range documents {
		made, err := content.New(object(t, document), keys)
		require.NoError(t, err)
		index.Set(made.Head)
	}
	return index
}

func selectors(t *testing.T, text string) []api.ResourceSelector {
	t.Helper()
	var parsed []api.ResourceSelector
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), &parsed))
	return parsed
}

func names(manifests []api.Manifest) []string {
	found := make([]string, 0, len(manifests))
	for i := range manifests {
		found = append(found, manifests[i].String())
	}
	return found
}

func TestUnmatchedNamesTheSelectorsThatTakeNothing(t *testing.T) {
	var selectors []api.ResourceSelector
	require.NoError(t, yaml.Unmarshal([]byte(`
- {group: "", version: v1, kind: Namespace, name: nothing}
- {group: rbac.authorization.k8s.io, version: v1, kind: ClusterRole, name: r}
- {group: rbac.authorization.k8s.io, version: v1, kind: ClusterRole, labelSelector: {matchLabels: {team: none}}}
- {group: "", version: v1, kind: ConfigMap, name: faulty}
`), &selectors))
	index := content.NewIndex()
	for _, ref := range []api.ObjectRef{
		{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "r"},
		{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "c"},
	} {
		index.Set(api.Spec{Object: ref, Digest: "d"})
	}
	require.Equal(t, []string{
		"resourceSelectors[0] (Namespace nothing) selects nothing on the hub",
		"resourceSelectors[2] (ClusterRole with labels team=none) selects nothing on the hub",
	}, content.Unmatched(selectors, "", index, api.OnTheHub))
}

func TestSelect(t *testing.T) {
	cases := map[string]struct {
		namespace, selectors string
		want                 []string
	}{
		"a namespace brings all that lies in it": {
			"", `[{group: "", version: v1, kind: Namespace, name: shop}]`,
			[]string{"Namespace/shop", "ConfigMap/shop/flags", "ConfigMap/shop/settings", "Deployment/shop/web", "Widget/shop/w"},
		},
		"claims travel with their namespace (D19)": {
			"", `[{group: "", version: v1, kind: Namespace, name: data, selectionScope: NamespaceWithResources}]`,
			[]string{"Namespace/data", "Secret/data/key", "PersistentVolumeClaim/data/disk"},
		},
		"namespaces by label, each with its content": {
			"", `[{group: "", version: v1, kind: Namespace, labelSelector: {matchLabels: {team: web}}}]`,
			[]string{"Namespace/blog", "Namespace/shop", "ConfigMap/shop/flags", "ConfigMap/shop/settings", "Deployment/shop/web", "Widget/shop/w"},
		},
		"a namespace alone": {
			"", `[{group: "", version: v1, kind: Namespace, name: shop, selectionScope: NamespaceOnly}]`,
			[]string{"Namespace/shop"},
		},
		"all of a kind": {
			"", `[{group: rbac.authorization.k8s.io, version: v1, kind: ClusterRole}]`,
			[]string{"ClusterRole/reader", "ClusterRole/writer"},
		},
		"by label": {
			"", `[{group: rbac.authorization.k8s.io, version: v1, kind: ClusterRole, labelSelector: {matchExpressions: [{key: team, operator: Exists}]}}]`,
			[]string{"ClusterRole/reader"},
		},
		"by name": {
			"", `[{group: rbac.authorization.k8s.io, version: v1, kind: ClusterRole, name: writer}]`,
			[]string{"ClusterRole/writer"},
		},
		"another version of the kind is the same kind": {
			"", `[{group: rbac.authorization.k8s.io, version: v1beta1, kind: ClusterRole, name: writer}]`,
			[]string{"ClusterRole/writer"},
		},
		"another group is another kind": {
			"", `[{group: example.com, version: v1, kind: ClusterRole, name: writer}]`,
			[]string{},
		},
		"a kind outside namespaces that Kubernetes does not bring": {
			"", `[{group: example.com, version: v1, kind: Realm}]`,
			[]string{"Realm/r"},
		},
		"a named object that does not exist is no error": {
			"", `[{group: "", version: v1, kind: Namespace, name: nowhere}, {group: example.com, version: v1, kind: Realm, name: r}]`,
			[]string{"Realm/r"},
		},
		"selectors inside one namespace, with kinds outside of any": {
			"", `[{group: "", version: v1, kind: Namespace, name: shop, selectionScope: NamespaceWithResourceSelectors},
			      {group: apps, version: v1, kind: Deployment},
			      {group: "", version: v1, kind: ConfigMap, labelSelector: {matchLabels: {app: shop}}},
			      {group: "", version: v1, kind: Secret},
			      {group: rbac.authorization.k8s.io, version: v1, kind: ClusterRole, name: reader}]`,
			[]string{"Namespace/shop", "ConfigMap/shop/settings", "ClusterRole/reader", "Deployment/shop/web"},
		},
		"a namespace alone, with what lies outside of any": {
			"", `[{group: "", version: v1, kind: Namespace, name: shop, selectionScope: NamespaceOnly}, {group: rbac.authorization.k8s.io, version: v1, kind: ClusterRole, name: reader}]`,
			[]string{"Namespace/shop", "ClusterRole/reader"},
		},
		"selectors inside one namespace take nothing of another": {
			"", `[{group: "", version: v1, kind: Namespace, name: shop, selectionScope: NamespaceWithResourceSelectors}, {group: "", version: v1, kind: Secret},
			      {group: "", version: v1, kind: PersistentVolumeClaim, name: disk}, {group: example.com, version: v1, kind: Widget}]`,
			[]string{"Namespace/shop", "Widget/shop/w"},
		},
		"selectors inside a namespace that is not there": {
			"", `[{group: "", version: v1, kind: Namespace, name: nowhere, selectionScope: NamespaceWithResourceSelectors}, {group: "", version: v1, kind: ConfigMap}]`,
			[]string{},
		},
		"a ResourcePlacement stays in its namespace": {
			"shop", `[{group: "", version: v1, kind: ConfigMap}, {group: "", version: v1, kind: Secret}, {group: example.com, version: v1, kind: Widget, name: w}]`,
			[]string{"ConfigMap/shop/flags", "ConfigMap/shop/settings", "Widget/shop/w"},
		},
		"a ResourcePlacement by label": {
			"shop", `[{group: "", version: v1, kind: ConfigMap, labelSelector: {matchLabels: {app: shop}}}]`,
			[]string{"ConfigMap/shop/settings"},
		},
		"kinds that never leave are skipped": {
			"", `[{group: cluster.kubernetes-fleet.io, version: v1, kind: MemberCluster}, {group: "", version: v1, kind: Node},
			      {group: placement.kubernetes-fleet.io, version: v1, kind: ClusterResourcePlacement}]`,
			[]string{},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			found, err := content.Select(selectors(t, c.selectors), c.namespace, indexOf(t, hub...))
			require.NoError(t, err)
			require.Equal(t, c.want, names(found))
		})
	}
}

const notReserved = `expected a namespace other than "default" and "flotilla-system", without the prefix "kube-" or "fleet-", and not among the hub's skippedNamespaces`

func TestSelectRefusesWhatTheHubReserves(t *testing.T) {
	index := indexOf(t, hub...)
	index.Reserve("blog")
	byLabel := selectors(t, `[{group: "", version: v1, kind: Namespace, labelSelector: {matchLabels: {team: web}}}]`)
	for _, x := range []*content.Index{index, index.Clone()} {
		_, err := content.Select(byLabel, "", x)
		require.EqualError(t, err, "spec.resourceSelectors[0].name: found the reserved namespace blog, "+notReserved)
	}
}

func TestSelectRefuses(t *testing.T) {
	cases := map[string]struct {
		namespace, selectors string
		want                 []string
	}{
		"every reserved namespace at once": {
			"", `[{group: "", version: v1, kind: Namespace, name: default}, {group: "", version: v1, kind: Namespace, name: kube-system},
			      {group: "", version: v1, kind: Namespace, name: fleet-member-a, selectionScope: NamespaceOnly},
			      {group: "", version: v1, kind: Namespace, name: flotilla-system}]`,
			[]string{
				`spec.resourceSelectors[0].name: found the reserved namespace default, ` + notReserved,
				`spec.resourceSelectors[1].name: found the reserved namespace kube-system, ` + notReserved,
				`spec.resourceSelectors[2].name: found the reserved namespace fleet-member-a, ` + notReserved,
				`spec.resourceSelectors[3].name: found the reserved namespace flotilla-system, ` + notReserved,
			},
		},
		"one object by two selectors": {
			"", `[{group: rbac.authorization.k8s.io, version: v1, kind: ClusterRole}, {group: rbac.authorization.k8s.io, version: v1, kind: ClusterRole, name: reader}]`,
			[]string{`spec.resourceSelectors[1]: found ClusterRole/reader, which spec.resourceSelectors[0] selects too, expected each object selected once`},
		},
		"a namespace twice is two faults, not one for each object in it": {
			"", `[{group: "", version: v1, kind: Namespace, name: shop}, {group: "", version: v1, kind: Namespace, labelSelector: {matchLabels: {team: web}}}]`,
			[]string{
				`spec.resourceSelectors[1]: found Namespace/shop, which spec.resourceSelectors[0] selects too, expected each object selected once`,
				`spec.resourceSelectors[1]: found Deployment/shop/web and 3 more, which spec.resourceSelectors[0] selects too, expected each object selected once`,
			},
		},
		"a namespaced kind by a ClusterResourcePlacement": {
			"", `[{group: apps, version: v1, kind: Deployment, name: web}]`,
			[]string{`spec.resourceSelectors[0].kind: found Deployment, which lies in namespaces, expected a kind outside namespaces, the Namespace that holds it, or a selector of the Namespace with selectionScope: NamespaceWithResourceSelectors`},
		},
		"a custom kind whose objects lie in namespaces": {
			"", `[{group: example.com, version: v1, kind: Widget}]`,
			[]string{`spec.resourceSelectors[0].kind: found Widget, which lies in namespaces, expected a kind outside namespaces, the Namespace that holds it, or a selector of the Namespace with selectionScope: NamespaceWithResourceSelectors`},
		},
		"a kind outside namespaces by a ResourcePlacement": {
			"shop", `[{group: "", version: v1, kind: Namespace, name: shop}, {group: example.com, version: v1, kind: Realm}]`,
			[]string{
				`spec.resourceSelectors[0].kind: found Namespace, which lies outside namespaces, expected a kind that lies in namespaces; a ClusterResourcePlacement selects the others`,
				`spec.resourceSelectors[1].kind: found Realm, which lies outside namespaces, expected a kind that lies in namespaces; a ClusterResourcePlacement selects the others`,
			},
		},
		"a reserved namespace by a ResourcePlacement": {
			"kube-system", `[{group: "", version: v1, kind: ConfigMap}]`,
			[]string{`metadata.namespace: found the reserved namespace kube-system, ` + notReserved},
		},
		"what lies in another namespace than the selected one is out of reach": {
			"", `[{group: "", version: v1, kind: Namespace, name: default, selectionScope: NamespaceWithResourceSelectors}, {group: "", version: v1, kind: ConfigMap}]`,
			[]string{`spec.resourceSelectors[0].name: found the reserved namespace default, ` + notReserved},
		},
		"a selector that does not parse": {
			"", `[{group: rbac.authorization.k8s.io, version: v1, kind: ClusterRole, labelSelector: {matchExpressions: [{key: a, operator: Near}]}}]`,
			[]string{`spec.resourceSelectors[0].labelSelector: found parsing: "Near" is not a valid label selector operator, expected a valid label selector`},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			found, err := content.Select(selectors(t, c.selectors), c.namespace, indexOf(t, hub...))
			require.Nil(t, found)
			var faults strict.Faults
			require.ErrorAs(t, err, &faults)
			lines := make([]string, len(faults))
			for i := range faults {
				lines[i] = faults[i].String()
			}
			require.Equal(t, c.want, lines)
		})
	}
}

// Each of these lies in namespace shop, which is selected whole, and must stay behind.
func TestSelectLeavesBehind(t *testing.T) {
	cases := map[string]string{
		"owned ReplicaSet":         `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: x, namespace: shop, ownerReferences: [{name: web}]}}`,
		"owned ControllerRevision": `{apiVersion: apps/v1, kind: ControllerRevision, metadata: {name: x, namespace: shop, ownerReferences: [{name: web}]}}`,
		"root certificate":         `{apiVersion: v1, kind: ConfigMap, metadata: {name: kube-root-ca.crt, namespace: shop}}`,
		"default service account":  `{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: shop}}`,
		"service account token":    `{apiVersion: v1, kind: Secret, type: kubernetes.io/service-account-token, metadata: {name: x, namespace: shop}}`,
		"books of Helm":            `{apiVersion: v1, kind: Secret, type: helm.sh/release.v1, metadata: {name: x, namespace: shop}}`,
		"managed EndpointSlice":    `{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: x, namespace: shop, labels: {endpointslice.kubernetes.io/managed-by: c}}}`,
		"Pod":                      `{apiVersion: v1, kind: Pod, metadata: {name: x, namespace: shop}}`,
		"Lease":                    `{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: x, namespace: shop}}`,
		"Event":                    `{apiVersion: events.k8s.io/v1, kind: Event, metadata: {name: x, namespace: shop}}`,
		"PodMetrics":               `{apiVersion: metrics.k8s.io/v1beta1, kind: PodMetrics, metadata: {name: x, namespace: shop}}`,
		"ServiceImport":            `{apiVersion: networking.fleet.azure.com/v1alpha1, kind: ServiceImport, metadata: {name: x, namespace: shop}}`,
		"empty envelope":           `{apiVersion: placement.kubernetes-fleet.io/v1, kind: ResourceEnvelope, metadata: {name: x, namespace: shop}}`,
		"override":                 `{apiVersion: placement.kubernetes-fleet.io/v1beta1, kind: ResourceOverride, metadata: {name: x, namespace: shop}}`,
	}
	whole := selectors(t, `[{group: "", version: v1, kind: Namespace, name: shop}]`)
	namespace := `{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`
	for name, document := range cases {
		t.Run(name, func(t *testing.T) {
			found, err := content.Select(whole, "", indexOf(t, namespace, document))
			require.NoError(t, err)
			require.Equal(t, []string{"Namespace/shop"}, names(found))
		})
	}
}

func TestSelectTakesWhatOnlyLooksLeftBehind(t *testing.T) {
	index := indexOf(t,
		`{apiVersion: v1, kind: Namespace, metadata: {name: shop}}`,
		`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: own, namespace: shop}}`,
		`{apiVersion: v1, kind: Secret, type: Opaque, metadata: {name: s, namespace: shop}}`,
		`{apiVersion: v1, kind: Endpoints, metadata: {name: external, namespace: shop}}`,
	)
	found, err := content.Select(selectors(t, `[{group: "", version: v1, kind: Namespace, name: shop}]`), "", index)
	require.NoError(t, err)
	require.Equal(t, []string{
		"Namespace/shop", "Secret/shop/s", "ReplicaSet/shop/own", "Endpoints/shop/external",
	}, names(found), "unknown kinds last, by group and version")
}

func TestSelectFollowsTheIndex(t *testing.T) {
	index := indexOf(t, hub...)
	endpoints, err := content.New(object(t, `{apiVersion: v1, kind: Endpoints, metadata: {name: web, namespace: blog}}`), keys)
	require.NoError(t, err)
	service, err := content.New(object(t, `{apiVersion: v1, kind: Service, metadata: {name: web, namespace: blog}}`), keys)
	require.NoError(t, err)
	blog := selectors(t, `[{group: "", version: v1, kind: Namespace, name: blog}]`)
	selected := func(index *content.Index) []string {
		found, err := content.Select(blog, "", index)
		require.NoError(t, err)
		return names(found)
	}

	index.Set(endpoints.Head)
	require.Equal(t, []string{"Namespace/blog", "Endpoints/blog/web"}, selected(index))

	tried := index.Clone()
	tried.Set(service.Head)
	require.Equal(t, []string{"Namespace/blog", "Service/blog/web"}, selected(tried), "endpoints of a service are made by it")
	require.Equal(t, []string{"Namespace/blog", "Endpoints/blog/web"}, selected(index), "a clone changes nothing")

	deleting := endpoints.Head
	deleting.Deleted = &metav1.Time{}
	index.Set(deleting)
	require.Equal(t, []string{"Namespace/blog"}, selected(index), "what is being deleted is not selected")

	index.RemoveKey(content.Key(endpoints.Head.Object))
	require.Equal(t, len(hub), index.Len())
	_, found := index.Get(endpoints.Head.Object)
	require.False(t, found)
}

func TestSelectDoesNotDependOnTheOrderOfArrival(t *testing.T) {
	all := selectors(t, `[{group: "", version: v1, kind: Namespace}, {group: rbac.authorization.k8s.io, version: v1, kind: ClusterRole}]`)
	want, err := content.Select(all, "", indexOf(t, hub...))
	require.NoError(t, err)
	require.Len(t, want, 11)
	for range 20 {
		shuffled := append([]string(nil), hub...)
		rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		got, err := content.Select(all, "", indexOf(t, shuffled...))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestSelectRefersToStrippedBodies(t *testing.T) {
	made, err := content.New(object(t, `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a, ownerReferences: [{name: o}]}}`), keys)
	require.NoError(t, err)
	found, err := content.Select(selectors(t, `[{group: rbac.authorization.k8s.io, version: v1, kind: ClusterRole}]`), "", content.NewIndex(made.Head))
	require.NoError(t, err)
	require.Equal(t, keys.Digest(made.Manifest), found[0].Digest)
	require.NotEqual(t, made.Head.Digest, found[0].Digest)
}

// What selectors look at is counted without a look: for each object of the kind, or of the namespace where those are
// fewer, as often as they have requirements (H48); where there is none, as if there were one (H56).
func TestLooksAreCounted(t *testing.T) {
	index := content.NewIndex()
	add := func(apiVersion, kind, namespace string, n int) {
		for i := range n {
			index.Set(api.Spec{Object: api.ObjectRef{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: fmt.Sprint("n", index.Len()+i)}})
		}
	}
	add("v1", "ConfigMap", "shop", 3)
	add("v1", "ConfigMap", "blog", 5)
	add("v1", "Namespace", "", 7)
	add("rbac.authorization.k8s.io/v1", "ClusterRole", "", 11)
	add("example.com/v1", "Widget", "shop", 13)
	add("example.com/v1", "Realm", "", 17)
	const three = ", labelSelector: {matchLabels: {a: b, c: d}, matchExpressions: [{key: e, operator: Exists}]}}"
	before := index
	index = before.Clone()
	add("v1", "ConfigMap", "shop", 1)
	require.True(t, index.Added())
	require.False(t, before.Added())
	for _, c := range []struct {
		namespace, selectors string
		looks, before        int
	}{
		{"shop", `[{version: v1, kind: ConfigMap` + three + `]`, 9 * 3, 8 * 3}, // of the kind and of the namespace there are 9 and 17
		{"shop", `[{version: v1, kind: ConfigMap}, {version: v1, kind: ConfigMap` + three + `]`, 9 * 4, 8 * 4},
		{"shop", `[{version: v1, kind: ConfigMap, name: a}]`, 0, 0},
		{"shop", `[{group: example.com, version: v1, kind: Widget` + three + `]`, 13 * 3, 13 * 3},
		{"shop", `[{group: example.com, version: v1, kind: Realm` + three + `]`, 17 * 3, 17 * 3},
		{"shop", `[{group: rbac.authorization.k8s.io, version: v1, kind: ClusterRole}]`, 0, 0},
		{"", `[{group: rbac.authorization.k8s.io, version: v1, kind: ClusterRole` + three + `]`, 11 * 3, 11 * 3},
		{"", `[{version: v1, kind: Namespace` + three + `]`, 7 * 3, 7 * 3},
		{"", `[{version: v1, kind: ConfigMap}]`, 0, 0},
		{"", `[{version: v1, kind: Pod}]`, 0, 0},
		{"shop", `[{version: v1, kind: Service` + three + `]`, 3, 3}, // of none as of one
		{"empty", `[{version: v1, kind: ConfigMap` + three + `]`, 3, 3},
		{"", `[{version: v1, kind: Namespace, name: blog, selectionScope: NamespaceWithResourceSelectors}, {version: v1, kind: ConfigMap` + three + `]`, 5 * 3, 5 * 3}, // of the namespace there are fewer
		{"", `[{version: v1, kind: Namespace, name: shop, selectionScope: NamespaceWithResourceSelectors}, {group: example.com, version: v1, kind: Realm` + three + `]`, 17 * 3, 17 * 3},
	} {
		looks, past := 0, 0
		for ground, times := range content.Looks(selectors(t, c.selectors), c.namespace) {
			now, was := index.Extent(ground)
			looks, past = looks+now*times, past+was*times
			require.NotEmpty(t, ground.String())
		}
		require.Equal(t, c.looks, looks, "%s in %q", c.selectors, c.namespace)
		require.Equal(t, c.before, past, "%s in %q", c.selectors, c.namespace)
	}
	for ground := range content.Looks(selectors(t, `[{group: example.com, version: v1, kind: Widget}]`), "shop") {
		require.Equal(t, "Widget.example.com in namespace shop", ground.String())
	}
}
