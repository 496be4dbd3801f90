package clusterapi

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/agent/management"
	"flotilla/core/api"
)

// entries are those of one list of the topology, with who leaves them behind.
func (w *world) entries(kind string) (all []any, behind map[string]any) {
	w.Helper()
	all, _, err := unstructured.NestedSlice(w.read(management.Clusters, "berlin").Object, "spec", "topology", "workers", kind)
	require.NoError(w, err)
	behind = map[string]any{}
	for _, entry := range all {
		e, _ := entry.(map[string]any)
		if by, is, _ := unstructured.NestedString(e, "metadata", "annotations", management.AnnotationDefer); is {
			name, _ := e["name"].(string)
			behind[name] = by
		}
	}
	return all, behind
}

// A topology says the version for all, so pools that are not named are left behind until an operation names them; nothing
// else of it changes.
func TestPoolsOfATopologyThatAreNotNamedAreLeftBehind(t *testing.T) {
	w := newWorld(t, managed)
	before, _ := w.entries("machineDeployments")
	result, err := w.carries(w.driver.Run, full("small"), w.act)
	require.NoError(t, err)
	require.Equal(t, api.OutcomeSucceeded, result.Outcome, result.Message)
	require.Equal(t, [3]string{"v1.37.1", "v1.37.1", "v1.36.3"}, w.versions())
	require.Equal(t, "v1.37.1", w.says(management.Clusters, "berlin", "spec", "topology", "version"))
	after, behind := w.entries("machineDeployments")
	require.Equal(t, map[string]any{"gpu": "flotilla"}, behind)
	require.Equal(t, before[0], after[0])
	_, pools := w.entries("machinePools")
	require.Equal(t, map[string]any{"spot": "flotilla", "small": "flotilla"}, pools)
	require.JSONEq(t, `{"operation":"u1/berlin/1","version":"v1.37.1"}`, w.says(management.Clusters, "berlin", "metadata", "annotations", annotationUpgrade))
	require.Empty(t, w.says(controlPlanes, "berlin", "metadata", "annotations", annotationUpgrade), "its topology says its version")

	w.restart()
	rest := api.UpgradeOperation{ID: "u2/berlin/1", Type: api.UpgradeFull, NodePools: []api.PoolUpgrade{{Pool: "gpu", ToVersion: "1.37.1"}}}
	result, err = w.carries(w.driver.Run, rest, w.act)
	require.NoError(t, err)
	require.Equal(t, api.OutcomeSucceeded, result.Outcome, result.Message)
	require.Equal(t, [3]string{"v1.37.1", "v1.37.1", "v1.37.1"}, w.versions())
	_, behind = w.entries("machineDeployments")
	require.Empty(t, behind)
	_, pools = w.entries("machinePools")
	require.Equal(t, map[string]any{"spot": "flotilla", "small": "flotilla"}, pools, "no operation names it")
}

// What others hold back stays, and is named.
func TestWhoHoldsAPoolBackIsNamed(t *testing.T) {
	for name, one := range map[string]struct{ entries, says string }{
		"itself":      {`[{"name":"small","metadata":{"annotations":{"topology.cluster.x-k8s.io/defer-upgrade":""}}},{"name":"gpu"}]`, "annotation topology.cluster.x-k8s.io/defer-upgrade in the topology of Cluster fleet/berlin holds node pool small back: take it off"},
		"one before":  {`[{"name":"gpu","metadata":{"annotations":{"topology.cluster.x-k8s.io/hold-upgrade-sequence":""}}},{"name":"small"}]`, "annotation topology.cluster.x-k8s.io/hold-upgrade-sequence of gpu in the topology of Cluster fleet/berlin holds node pool small back: take it off"},
		"one after":   {`[{"name":"small"},{"name":"gpu","metadata":{"annotations":{"topology.cluster.x-k8s.io/hold-upgrade-sequence":""}}}]`, ""},
		"not this":    {`[{"name":"small"},{"name":"gpu","metadata":{"annotations":{"topology.cluster.x-k8s.io/defer-upgrade":""}}}]`, ""},
		"this driver": {`[{"name":"small","metadata":{"annotations":{"topology.cluster.x-k8s.io/defer-upgrade":"flotilla"}}},{"name":"gpu"}]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, managed)
			w.change(management.Clusters, "berlin", `{"spec":{"topology":{"workers":{"machineDeployments":`+one.entries+`}}}}`)
			result, err := w.carries(w.driver.Run, full("small"), w.act)
			require.NoError(t, err)
			if one.says == "" {
				require.Equal(t, api.OutcomeSucceeded, result.Outcome, result.Message)
				return
			}
			require.Equal(t, api.UpgradeResult{Outcome: api.OutcomeBlocked, Message: one.says}, result)
			require.Equal(t, "v1.36.3", w.says(management.Clusters, "berlin", "spec", "topology", "version"))

			w = newWorld(t, managed)
			result, err = w.carries(w.driver.Run, full("small"), func(look int) error {
				if look == 3 {
					w.change(management.Clusters, "berlin", `{"spec":{"topology":{"workers":{"machineDeployments":`+one.entries+`}}}}`)
				}
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, api.OutcomeFailed, result.Outcome)
			require.Equal(t, one.says, result.Message)
		})
	}
}

// Who leaves a pool behind again that an operation moves is not fought with.
func TestAPoolThatIsLeftBehindAgain(t *testing.T) {
	w := newWorld(t, managed)
	result, err := w.carries(w.driver.Run, full("small"), func(look int) error {
		if look == 3 {
			w.change(management.Clusters, "berlin", `{"spec":{"topology":{"workers":{"machineDeployments":[{"name":"small","metadata":{"annotations":{"topology.cluster.x-k8s.io/defer-upgrade":"flotilla"}}},{"name":"gpu"}]}}}}`)
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, api.OutcomeFailed, result.Outcome)
	require.Contains(t, result.Message, "somebody else had node pools left behind since by annotation topology.cluster.x-k8s.io/defer-upgrade in the topology of Cluster fleet/berlin: take it off")
}
