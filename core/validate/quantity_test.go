package validate

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"flotilla/core/api"
	"flotilla/core/strict"
)

// poison are texts that Kubernetes takes for quantities, and that cost it seconds to minutes and gigabytes to
// read, to compare or to round; and more beyond the bounds.
var poison = []string{
	"1e-999999999", "1e999999999", "-1e999999999", "1E-999999999", "1e-2147483648", "1e2147483647", "1e4294967297", "1e-99999999999999999999",
	"0.000000001e-999999", "1e-100", "0e-999999999", "0e100", "1e31", "-1e31", "1e-19", "9999999999999999999999999999999", "1000000000000Ei",
	"0.0000000000000000001", "1.0000000000000n", "+1.5e99", strings.Repeat("9", 41), "0." + strings.Repeat("0", 4000) + "1", strings.Repeat("1", 1<<20) + "e-9",
}

func yamlToJSON(t *testing.T, text string) []byte {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	return raw
}

func TestParseQuantity(t *testing.T) {
	for _, text := range poison {
		_, err := strict.ParseQuantity(text)
		require.ErrorIs(t, err, strict.ErrAmountBounds, "%.50q", text)
		require.False(t, strict.IsQuantity(text), "%.50q", text)
	}
	for _, text := range []string{
		"", "x", "v1.33.1", "https://example.com", "1.2.3", "1.3.6.1.4.1.311.60.2.1.3", "1.30.20261122.1234567890123", "1.2.3-4.5.6-7.8.9.0.1.2.3.4",
		"1-9999999999999999999999999999999", strings.Repeat("1.2.", 20) + "3", strings.Repeat("1-", 30) + "e5", "1e", "1K", "0x10", "NaN", "Inf", "1 ", "٣", strings.Repeat("a", 1<<20), "sha256:" + strings.Repeat("4f", 32),
	} {
		_, err := strict.ParseQuantity(text)
		require.ErrorIs(t, err, strict.ErrNoQuantity, "%.50q", text)
	}
	for _, text := range []string{
		"0", "5", "-5", "+5", "1.5", ".5", "5.", "100m", "1500u", "3n", "2Gi", "1.5Gi", "7k", "3E", "4Ei", "1e3", "1E3", "12e-6", "1e30", "-1e30", "1e-18",
		"1000000000000000000000000000000", "0.000000000000000001", "0.000000001n", "123456789012345678901234567890.123456789", "9223372036854775807",
	} {
		q, err := strict.ParseQuantity(text)
		require.NoError(t, err, text)
		want, err := resource.ParseQuantity(text)
		require.NoError(t, err, text)
		require.Zero(t, q.Cmp(want), text)
	}
}

func TestParseDecimal(t *testing.T) {
	for _, text := range append([]string{"NaN", "Inf", "infinity", "0x1p4", "1_0", "", "1Gi", "-"}, poison...) {
		_, err := strict.ParseDecimal(text)
		require.Error(t, err, "%.50q", text)
	}
	for text, want := range map[string]float64{"0.096": 0.096, "3e2": 300, "-1": -1, "1e30": 1e30, "5.": 5} {
		f, err := strict.ParseDecimal(text)
		require.NoError(t, err, text)
		require.InDelta(t, want, f, 0, text)
	}
}

// Every place of a document of a user at which an amount stands refuses it by its path, and says the bounds.
func TestAmountsOfDocumentsAreBounded(t *testing.T) {
	const catalog = `apiVersion: flotilla.io/v1alpha1
kind: InstanceCatalog
metadata: {name: c}
spec: {reserved: {cpu: 1, memory: 1Gi}, types: [{name: a, cpu: 2, memory: 8Gi, resources: {gpu: 1}, offerings: [{zone: z, capacityType: spot, price: 0.1}]}]}
`
	const placement = `apiVersion: placement.kubernetes-fleet.io/v1
kind: ClusterResourcePlacement
metadata: {name: web}
spec:
  resourceSelectors: [{group: "", version: v1, kind: Namespace, name: shop}]
  policy: {placementType: PickAll, affinity: {clusterAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {clusterSelectorTerms: [
    {propertySelector: {matchExpressions: [{name: cost, operator: Ge, values: ["VALUE"]}]}}]}}}}
`
	pod := `{containers: [{name: c, image: i, resources: {requests: {cpu: "VALUE"}}}]}`
	for path, text := range map[string]string{
		"spec.limits.cpu":                  poolHead + "spec: {limits: {cpu: VALUE}}",
		`spec.limits["example.com/x"]`:     poolHead + `spec: {limits: {example.com/x: "VALUE"}}`,
		"spec.reserved.cpu":                strings.Replace(catalog, "cpu: 1,", "cpu: VALUE,", 1),
		"spec.reserved.memory":             strings.Replace(catalog, "memory: 1Gi", "memory: VALUE", 1),
		"spec.types[0].cpu":                strings.Replace(catalog, "cpu: 2", `cpu: "VALUE"`, 1),
		"spec.types[0].memory":             strings.Replace(catalog, "8Gi", "VALUE", 1),
		"spec.types[0].resources.gpu":      strings.Replace(catalog, "gpu: 1", "gpu: VALUE", 1),
		"spec.types[0].offerings[0].price": strings.Replace(catalog, "0.1", "VALUE", 1),
		"spec.policy.affinity.clusterAffinity.requiredDuringSchedulingIgnoredDuringExecution.clusterSelectorTerms[0].propertySelector.matchExpressions[0].values[0]": placement,
		"spec.containers[0].resources.requests.cpu":                                "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: shop}\nspec: " + pod,
		"spec.template.spec.containers[0].resources.requests.cpu":                  "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: p, namespace: shop}\nspec: {template: {spec: " + pod + "}}",
		"spec.jobTemplate.spec.template.spec.containers[0].resources.requests.cpu": "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: p, namespace: shop}\nspec: {jobTemplate: {spec: {template: {spec: " + pod + "}}}}",
		"spec.hard.pods":                        "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: p, namespace: shop}\nspec: {hard: {pods: VALUE}}",
		"spec.limits[0].max.cpu":                "apiVersion: v1\nkind: LimitRange\nmetadata: {name: p, namespace: shop}\nspec: {limits: [{type: Pod, max: {cpu: VALUE}}]}",
		"spec.resources.requests.storage":       "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: p, namespace: shop}\nspec: {resources: {requests: {storage: VALUE}}}",
		"spec.metrics[0].resource.target.value": "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: p, namespace: shop}\nspec: {metrics: [{type: Resource, resource: {name: cpu, target: {value: VALUE}}}]}",
	} {
		for _, value := range []string{"1e-999999999", "1e999999999"} {
			_, faults := Decode(yamlToJSON(t, strings.ReplaceAll(strings.ReplaceAll(text, `"VALUE"`, "VALUE"), "VALUE", `"`+value+`"`)))
			require.Len(t, faults, 1, "%s: %v", path, faults)
			require.Equal(t, path, faults[0].Path)
			require.Contains(t, faults[0].Found, value, path)
			require.Contains(t, faults[0].Expected, "from -1e30 to 1e30", path)
		}
		_, faults := Decode(yamlToJSON(t, strings.ReplaceAll(strings.ReplaceAll(text, `"VALUE"`, "VALUE"), "VALUE", `"1"`)))
		require.Empty(t, faults, path)
	}
}

// Counts are whole numbers, in whatever form they stand, and cost nothing either.
func TestCountsAreBounded(t *testing.T) {
	for _, value := range []string{"1e-999999999", "1e999999999", `"1e-999999999"`, "1e-999999", strings.Repeat("9", 1<<19), `"` + strings.Repeat("9", 1<<19) + `"`} {
		_, faults := Decode([]byte(`{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"a"},"spec":{"weight":` + value + `}}`))
		require.Len(t, faults, 1, "%.50s", value)
		require.Equal(t, "spec.weight", faults[0].Path)
		require.Less(t, len(faults[0].Found), 200)
	}
}

// Types of Kubernetes read their quantities themselves: none beyond the bounds reaches them, wherever it
// stands, in whatever spelling encoding/json takes for the field, once or twice.
func TestDecodeKubernetes(t *testing.T) {
	for body, path := range map[string]string{
		`{"spec":{"containers":[{},{"resources":{"requests":{"cpu":"1e-999999999"}}}]}}`:                          "spec.containers[1].resources.requests.cpu",
		`{"SPEC":{"Containers":[{"REsources":{"requeſts":{"cpu":" 1e-999999999 "}}}]}}`:                           "SPEC.Containers[0].REsources[\"requeſts\"].cpu",
		`{"spec":{"overhead":{"memory":1e300}}}`:                                                                  "spec.overhead.memory",
		`{"spec":{"overhead":{"memory":"1e999999999"},"initContainers":[{"resources":{"limits":{"x":"1e31"}}}]}}`: "spec.initContainers[0].resources.limits.x",
		`{"status":{"containerStatuses":[{"allocatedResources":{"cpu":"1e-999999999"}}]}}`:                        "status.containerStatuses[0].allocatedResources.cpu",
	} {
		var faults strict.Faults
		require.ErrorAs(t, strict.Kubernetes([]byte(body), &corev1.Pod{}), &faults, body)
		require.Equal(t, path, faults[0].Path, body)
		var tree map[string]any
		require.NoError(t, json.Unmarshal([]byte(body), &tree))
		require.ErrorAs(t, strict.FromUnstructured(tree, &corev1.Pod{}), &faults, body)
	}
	var pod corev1.Pod
	twice := `{"spec":{"overhead":{"cpu":"1e-999999999"},"overhead":{"cpu":"5"}},"metadata":{"name":"1e-999999999","annotations":{"sha":"12e45678"}}}`
	require.NoError(t, strict.Kubernetes([]byte(twice), &pod))
	require.Equal(t, "5", pod.Spec.Overhead.Cpu().String())
	require.Equal(t, "12e45678", pod.Annotations["sha"])
	require.NoError(t, strict.FromUnstructured(map[string]any{"spec": map[string]any{"replicas": int64(3)}}, &appsv1.Deployment{}))
}

// What a bucket holds already is read as text, whatever it is.
func TestStoredAmountsAreText(t *testing.T) {
	var limits map[string]strict.Amount
	require.NoError(t, json.Unmarshal([]byte(`{"cpu":1e-999999999,"memory":"1e999999999","pods":10}`), &limits))
	require.Equal(t, map[string]strict.Amount{"cpu": "1e-999999999", "memory": "1e999999999", "pods": "10"}, limits)
	require.Error(t, json.Unmarshal([]byte(`{"cpu":true}`), &limits))
	var price strict.Price
	require.Error(t, json.Unmarshal([]byte(`"1e-999999999"`), &price))
}

func TestNodesWithImpossibleAmounts(t *testing.T) {
	most := api.Amounts{"cpu": api.MaxResource, "memory": -api.MaxResource}
	require.NoError(t, (&api.NodeState{Capacity: most, Pods: []api.PodState{{Requests: most}}}).CheckAmounts())
	over := api.Amounts{"cpu": api.MaxResource + 1}
	require.ErrorContains(t, (&api.NodeState{Name: "n1", Allocatable: over}).CheckAmounts(), "node n1")
	require.ErrorContains(t, (&api.NodeState{Pods: []api.PodState{{}, {Namespace: "shop", Name: "p", Requests: api.Amounts{"x": math.MinInt64}}}}).CheckAmounts(), "pod shop/p")
	require.ErrorContains(t, (&api.NodeInventory{Pending: []api.PodState{{Namespace: "shop", Name: "p", Requests: over}}}).CheckAmounts(), "pod shop/p")
	require.ErrorContains(t, (&api.NodeInventory{DaemonSets: []api.DaemonSetState{{Name: "d", Pod: api.PodState{Requests: over}}}}).CheckAmounts(), "DaemonSet /d")
}

func FuzzParseQuantity(f *testing.F) {
	for _, seed := range append([]string{"0", "1.5Gi", "-3e2", "100m", "1e30", "v1.2", "12e-6", ".", "+", "1Ee5", "1e+-5"}, poison[:20]...) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := strict.ParseQuantity(text)
		if err != nil {
			require.True(t, errors.Is(err, strict.ErrAmountBounds) || errors.Is(err, strict.ErrNoQuantity))
			return
		}
		// All that decisions do with quantities is done here: it ends, and soon.
		require.LessOrEqual(t, math.Abs(q.AsApproximateFloat64()), 1.0001e30, "%q", text)
		one := resource.MustParse("1m")
		_, _, _, _ = q.Cmp(one), q.String(), q.DeepCopy(), q.Sign()
		q.Sub(one)
		q.Add(one)
		_, _ = q.Value(), q.MilliValue()
	})
}
