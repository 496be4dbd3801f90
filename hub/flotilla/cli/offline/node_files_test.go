package offline

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/capacity"
	"flotilla/core/cluster"
	"flotilla/core/simulate"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

const poolText = `apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: a
  annotations: {flotilla.io/fleet-budget: all=1, flotilla.io/members: "env=prod"}
spec:
  template: {spec: {nodeClassRef: {group: x.io, kind: Class, name: c}}}
`

func filesOf(t *testing.T, texts ...string) (*nodeFiles, error) {
	t.Helper()
	a := resource.New(session.New(session.Environment{In: strings.NewReader(strings.Join(texts, "\n---\n"))}))
	return (&Source{Files: []string{"-"}}).ReadNodeFiles(a)
}

func stateOf(t *testing.T, texts ...string) (*nodeFiles, *simulate.State) {
	t.Helper()
	f, err := filesOf(t, texts...)
	require.NoError(t, err)
	s, err := f.State(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), capacity.Rules{})
	require.NoError(t, err)
	return f, s
}

const nodeText = `apiVersion: v1
kind: Node
metadata: {name: n1, labels: {karpenter.sh/nodepool: a, karpenter.sh/initialized: "true"}}
status: {conditions: [{type: Ready, status: "True"}]}
`

// What stands beside nodes and pods reaches the state.
func TestNodeFilesBeside(t *testing.T) {
	f, s := stateOf(t, poolText, nodeText, `apiVersion: v1
kind: Pod
metadata: {name: p1, namespace: d}
spec:
  nodeName: n1
  volumes: [{name: v, persistentVolumeClaim: {claimName: c1}}]
`, `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: c1, namespace: d}
spec: {volumeName: v1}
`, `apiVersion: v1
kind: PersistentVolume
metadata: {name: v1}
spec: {csi: {driver: disk, volumeHandle: h1}}
`, `apiVersion: storage.k8s.io/v1
kind: CSINode
metadata: {name: n1}
spec: {drivers: [{name: disk, nodeID: x, allocatable: {count: 4}}]}
`, `apiVersion: v1
kind: Namespace
metadata: {name: d, labels: {team: t}}
`, `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: ds, namespace: d}
spec: {template: {spec: {containers: [{name: m, resources: {requests: {cpu: 50m}}}]}}}
`, `apiVersion: x.io/v1
kind: Class
metadata: {name: c}
spec: {image: i}
`)
	n, ok := s.Cluster.Node("n1")
	require.True(t, ok)
	require.Equal(t, map[string]int{"disk": 4}, n.AttachLimits)
	require.Equal(t, "h1", n.Pods[0].Volumes[0].ID)
	inventory := cluster.Observe(&f.Listing).Inventory
	require.Equal(t, map[string]map[string]string{"d": {"team": "t"}}, inventory.Namespaces)
	require.Equal(t, "DaemonSet", inventory.DaemonSets[0].Pod.Owner)
	require.Equal(t, int64(50), inventory.DaemonSets[0].Pod.Requests["cpu"])
	require.NotEmpty(t, s.Pools[0].Template().ClassHash)
	require.Equal(t, map[string]int{"all": 1}, s.FleetAllowed)
	require.Len(t, f.Notes, 2, "the selector of members, and the fleet-wide budget: %v", f.Notes)
}

// Without the node class there is no hash to drift from, and what is not held is said.
func TestNodeFilesAbsent(t *testing.T) {
	f, s := stateOf(t, poolText, nodeText, `apiVersion: v1
kind: Pod
metadata: {name: p1, namespace: d}
spec: {volumes: [{name: v, persistentVolumeClaim: {claimName: c1}}]}
status: {conditions: [{type: PodScheduled, status: "False", reason: Unschedulable}]}
`, "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n")
	require.Empty(t, s.Pools[0].Template().ClassHash)
	inventory := cluster.Observe(&f.Listing).Inventory
	require.Len(t, inventory.Pending, 1)
	require.Empty(t, inventory.Pending[0].Volumes, "unknown claims restrict nothing")
	f.NoteAbsent()
	notes := strings.Join(f.Notes, "\n")
	for _, want := range []string{"1 of v1 Service", "no InstanceCatalog", "no PodDisruptionBudget", "no DaemonSet", "no PersistentVolumeClaim"} {
		require.Contains(t, notes, want)
	}
}

// Every fault comes back at once, with its document and its path.
func TestNodeFilesFaults(t *testing.T) {
	catalog := "apiVersion: flotilla.io/v1alpha1\nkind: InstanceCatalog\nmetadata: {name: %}\nspec: {types: [{name: d, cpu: 2, memory: 8Gi, offerings: [{zone: z, capacityType: spot, price: 1}]}]}\n"
	_, err := filesOf(t, poolText, nodeText, nodeText, strings.Replace(catalog, "%", "one", 1), strings.Replace(catalog, "%", "two", 1),
		"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: m, resources: {requests: {cpu: lots}}}]}\n", "apiVersion: v1\nkind: Node\n")
	require.Error(t, err)
	for _, want := range []string{"-:18:12: Node/n1: metadata.name", "each object once", "a second InstanceCatalog", "v1 Pod", "metadata.name"} {
		require.Contains(t, strings.ReplaceAll(err.Error(), "Pod/p", "v1 Pod/p"), want)
	}
}

// An amount in what kubectl printed that would cost minutes to read is a fault at its place.
func TestNodeFilesWithPoisonousAmounts(t *testing.T) {
	_, err := filesOf(t, poolText, strings.Replace(nodeText, "{conditions", `{capacity: {cpu: "1e-999999999"}, conditions`, 1))
	require.ErrorContains(t, err, "status.capacity.cpu")
	require.ErrorContains(t, err, "from -1e30 to 1e30")
}

// NodeClaims tell what a node was made with, of which the node itself says nothing.
func TestNodeClaims(t *testing.T) {
	claim := func(text string) string {
		return "apiVersion: karpenter.sh/v1\nkind: NodeClaim\n" + text
	}
	f, s := stateOf(t, poolText, nodeText, claim(`
metadata: {name: c1, creationTimestamp: "2026-02-01T00:00:00Z", deletionTimestamp: "2026-03-01T11:00:00Z"}
spec: {expireAfter: 24h, terminationGracePeriod: 1h}
status: {nodeName: n1, conditions: [{type: InstanceTerminating, status: "True"}]}
`), claim("metadata: {name: c2}\nstatus: {nodeName: n9}"), claim("metadata: {name: c3}\nspec: {expireAfter: 24h}"))
	n, found := s.Cluster.Node("n1")
	require.True(t, found)
	require.Equal(t, []any{"24h", "1h", true, true, true}, []any{n.ExpireAfter, n.TerminationGracePeriod, n.Deleting, n.InstanceTerminating, n.Managed})
	require.Equal(t, time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC), n.Created.UTC())
	require.Contains(t, f.Notes, "not looked at: NodeClaim c2, whose node n9 the files do not hold")
	require.Contains(t, f.Notes, "NodeClaim c3 has no node yet: this is what follows as if it were not there; Karpenter itself waits for the launch first")
}
