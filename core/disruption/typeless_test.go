package disruption

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
	"flotilla/core/strict"
)

// A pod that no new node could hold hears what it is that no instance type has.
func TestWhatNoInstanceTypeHasIsNamed(t *testing.T) {
	selecting := func(key, value string) func(*api.PodState) {
		return func(p *api.PodState) { p.NodeSelector = map[string]string{key: value} }
	}
	asking := func(name string, amount int64) func(*api.PodState) {
		return func(p *api.PodState) { p.Requests[name] = amount }
	}
	limited := func(p *api.NodePool) { p.Spec.Limits = map[string]strict.Amount{"cpu": "8"} }
	only := func(types ...string) func(*api.NodePool) {
		return func(p *api.NodePool) {
			r := &p.Spec.Template.Spec.Requirements
			*r = append(*r, api.NodeRequirement{Key: corev1.LabelInstanceTypeStable, Operator: "In", Values: types})
		}
	}
	daemon := api.DaemonSetState{Namespace: "kube-system", Name: "log", Pod: simulatetest.Pod("log", 1000)}
	for _, tc := range []struct {
		pod     api.PodState
		pool    *api.NodePool
		daemons []api.DaemonSetState
		want    string
	}{
		{simulatetest.Pod("p", 99000), simulatetest.Pool("a"), nil, "no instance type has enough cpu (99 needed, 31900m at most)"},
		{simulatetest.Pod("p", 31000), simulatetest.Pool("a"), []api.DaemonSetState{daemon}, "no instance type has enough cpu (32 needed with its daemons, 31900m at most)"},
		{simulatetest.Pod("p", 100, asking("memory", 200<<30)), simulatetest.Pool("a"), nil, "no instance type has enough memory (200Gi needed, 131062Mi at most)"},
		{simulatetest.Pod("p", 100, asking("nvidia.com/gpu", 2)), simulatetest.Pool("a"), nil, "no instance type has enough nvidia.com/gpu (2 needed, 0 at most)"},
		{simulatetest.Pod("p", 99000, asking("memory", 200<<30)), simulatetest.Pool("a"), nil, "no instance type has enough cpu (99 needed, 31900m at most), memory (200Gi needed, 131062Mi at most)"},
		{
			simulatetest.Pod("p", 3000, asking("memory", 20<<30), selecting(corev1.LabelInstanceTypeStable, "d4")), simulatetest.Pool("a"), nil,
			"no instance type has enough memory (20Gi needed, 16374Mi at most)",
		},
		{simulatetest.Pod("p", 15000), simulatetest.Pool("a", limited), nil, "no instance type within the pool's limits (cpu 8, 8 left) has enough cpu (15 needed, 7900m at most)"},
		{simulatetest.Pod("p", 7500, asking("memory", 50<<30)), simulatetest.Pool("a", only("d8", "e4")), nil, "no instance type has enough memory (50Gi needed, 32758Mi at most)"},
		{simulatetest.Pod("p", 3000, asking("memory", 12<<30)), simulatetest.Pool("a", only("e2", "f4")), nil, "no instance type has enough of all at once: cpu (3 needed), memory (12Gi needed)"},
		{simulatetest.Pod("p", 100, selecting(corev1.LabelArchStable, "arm64")), simulatetest.Pool("a"), nil, "no instance type has kubernetes.io/arch in arm64"},
	} {
		node := simulatetest.Node("n", "d4", "z-a", "a", tc.pod)
		f := simulatetest.Member{Nodes: []*api.NodeState{node}, Pools: []*api.NodePool{tc.pool}, Daemons: tc.daemons}
		x := simulate.NewIndex(f.State())
		out := x.Simulate(x.Nodes[:1], false)
		require.Len(t, out.Failed, 1, tc.want)
		require.Contains(t, simulate.Failures(out.Failed), "pool a: "+tc.want)
	}
}

// A pool that can make no node at all says which limit or which requirement rules every instance type out.
func TestWhatClosesAPoolIsNamed(t *testing.T) {
	asking := func(key string, values ...string) func(*api.NodePool) {
		return func(p *api.NodePool) {
			r := &p.Spec.Template.Spec.Requirements
			*r = append(*r, api.NodeRequirement{Key: key, Operator: "In", Values: values})
		}
	}
	daemon := api.DaemonSetState{Namespace: "kube-system", Name: "log", Pod: simulatetest.Pod("log", 99000)}
	split := &api.InstanceCatalog{Spec: api.InstanceCatalogSpec{Types: []api.InstanceType{
		{Name: "d4", CPU: "4", Memory: "16Gi", Offerings: []api.InstanceOffering{{Zone: "z-a", CapacityType: "spot", Price: 1}, {Zone: "z-b", CapacityType: "on-demand", Price: 2}}},
	}}}
	for _, tc := range []struct {
		pool    *api.NodePool
		daemons []api.DaemonSetState
		catalog *api.InstanceCatalog
		want    string
	}{
		{simulatetest.Pool("a", simulatetest.Limited("cpu", "1")), nil, nil, "no instance type is left within its limits: cpu 1, 1 left, and a node has 2 at least"},
		{simulatetest.Pool("a", simulatetest.Limited("nodes", "0")), nil, nil, "no instance type is left within its limits: nodes 0, none left"},
		{simulatetest.Pool("a", simulatetest.Limited("memory", "2Gi")), nil, nil, "no instance type is left within its limits: memory 2Gi, 2Gi left, and a node has 4Gi at least"},
		{simulatetest.Pool("a", asking(corev1.LabelInstanceTypeStable, "x1", "x2")), nil, nil, "no instance type has node.kubernetes.io/instance-type in x1, x2, as its requirements ask"},
		{simulatetest.Pool("a", asking(corev1.LabelInstanceTypeStable, "1", "2", "3", "4", "5", "6", "7")), nil, nil, "no instance type has node.kubernetes.io/instance-type in 1, 2, 3, 4, 5 and 2 more, as its requirements ask"},
		{
			simulatetest.Pool("a", asking(corev1.LabelArchStable, "arm64"), asking(corev1.LabelTopologyZone, "z-x")), nil, nil,
			"no instance type has kubernetes.io/arch in arm64, nor topology.kubernetes.io/zone in z-x, as its requirements ask",
		},
		{
			simulatetest.Pool("a", asking(corev1.LabelTopologyZone, "z-a")), nil, split,
			"no instance type has all at once: karpenter.sh/capacity-type in on-demand, topology.kubernetes.io/zone in z-a, as its requirements ask",
		},
		{simulatetest.Pool("a"), []api.DaemonSetState{daemon}, nil, "no instance type that its requirements admit has room for its daemons"},
		{simulatetest.Pool("a"), nil, &api.InstanceCatalog{}, "there is no instance type for it"},
	} {
		f := simulatetest.Member{Nodes: []*api.NodeState{simulatetest.Node("n", "d4", "z-a", "", simulatetest.Pod("p", 100))}, Pools: []*api.NodePool{tc.pool}, Daemons: tc.daemons, Catalog: tc.catalog}
		x := simulate.NewIndex(f.State())
		out := x.Simulate(x.Nodes[:1], false)
		require.Len(t, out.Failed, 1, tc.want)
		require.Contains(t, simulate.Failures(out.Failed), "pool a: "+tc.want)
	}
}
