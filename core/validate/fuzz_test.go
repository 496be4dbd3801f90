package validate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/tests/limits"
)

// FuzzDecode reads documents as the door does; a document that is right stays so when it is written again.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ClusterResourcePlacement","metadata":{"name":"web"},"spec":{"resourceSelectors":[{"group":"","version":"v1","kind":"Namespace","name":"shop"}],"policy":{"placementType":"PickN","numberOfClusters":2,"affinity":{"clusterAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":20,"preference":{"propertySelector":{"matchExpressions":[{"name":"resources.kubernetes-fleet.io/total-cpu","operator":"Ge","values":["1e3"]}]}}}]}}}}}`,
		`{"apiVersion":"cluster.kubernetes-fleet.io/v1","kind":"MemberCluster","metadata":{"name":"oslo","labels":{"a":"b"}},"spec":{"taints":[{"key":"k","value":"v","effect":"NoSchedule"}]}}`,
		`{"apiVersion":"flotilla.io/v1alpha1","kind":"UpdateRun","metadata":{"name":"r"},"spec":{"managedClusterUpdate":{"upgrade":{"type":"Full","kubernetesVersion":"1.30.2"}}}}`,
		`{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"default"},"spec":{"limits":{"cpu":"1e-999999999"},"disruption":{"budgets":[{"nodes":"10%","schedule":"TZ=","duration":"1h"}]}}}`,
		`{"apiVersion":"flotilla.io/v1alpha1","kind":"InstanceCatalog","metadata":{"name":"c"},"spec":{"instanceTypes":[{"name":"a","capacity":{"cpu":"4"},"offerings":[{"zone":"z","capacityType":"spot","price":"0.1"}]}]}}`,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"b","a":"c"}}`,
		`{"apiVersion":"placement.kubernetes-fleet.io/v1","kind":"ResourceEnvelope","metadata":{"name":"a","namespace":"b"},"data":{"a":{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a","namespace":"b"}}}}`,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b","annotations":{"kubernetes-fleet.io/envelope-configmap":"true"}},"data":{"a":"apiVersion: v1\nkind: &k Namespace\nmetadata: {name: a}\nx: *k"}}`,
		strings.Repeat("[", 70_000), strings.Repeat(`{"a":`, 10_000),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var faults strict.Faults
		limits.Hold(t, len(raw), func() {
			_, faults = Decode(raw)
			_ = faults.Error()
		})
		if len(faults) > 0 {
			require.True(t, api.Printable(strings.ReplaceAll(faults.Error(), "\n", " ")), "what is said of a fault reaches terminals: %q", faults.Error())
			return
		}
		var tree any
		require.NoError(t, json.Unmarshal(raw, &tree))
		text, err := json.Marshal(tree)
		require.NoError(t, err)
		_, faults = Decode(text)
		require.Empty(t, faults)
	})
}

// FuzzDecodeKubernetes reads objects of Kubernetes as agents and `plan` do.
func FuzzDecodeKubernetes(f *testing.F) {
	f.Add([]byte(`{"kind":"Node","metadata":{"name":"n1"},"status":{"capacity":{"cpu":"4","memory":"1e-999999999"}}}`))
	f.Add([]byte(`{"kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1e999999999"}}}]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		limits.Hold(t, len(raw), func() {
			var node corev1.Node
			var pod corev1.Pod
			_ = strict.Kubernetes(raw, &node)
			_ = strict.Kubernetes(raw, &pod)
			for _, amount := range node.Status.Capacity {
				_, _ = amount.MilliValue(), amount.String()
			}
		})
	})
}
