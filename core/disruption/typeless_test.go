package disruption

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
)

// A pod that no new node could hold hears what it is that no instance type has.
func TestWhatNoInstanceTypeHasIsNamed(t *testing.T) {
	selecting := func(key, value string) func(*api.PodState) {
		return func(p *api.PodState) { p.NodeSelector = map[string]string{key: value} }
	}
	asking := func(name string, amount int64) func(*api.PodState) {
		return func(p *api.PodState) { p.Requests[name] = amount }
	}
	limited := func(p *api.NodePool) { p.Spec.Limits = map[string]api.Amount{"cpu": "8"} }
	only := func(types ...string) func(*api.NodePool) {
		return func(p *api.NodePool) {
			r := &p.Spec.Template.Spec.Requirements
			*r = append(*r, api.NodeRequirement{Key: corev1.LabelInstanceTypeStable, Operator: "In", Values: types})
		}
	}
	daemon := api.DaemonSetState{Namespace: "kube-system", Name: "log", Pod: aPod("log", 1000)}
	for _, tc := range []struct {
		pod     api.PodState
		pool    *api.NodePool
		daemons []api.DaemonSetState
		want    string
	}{
		{aPod("p", 99000), testPool("a"), nil, "no instance type has enough cpu (99 needed, 31900m at most)"},
		{aPod("p", 31000), testPool("a"), []api.DaemonSetState{daemon}, "no instance type has enough cpu (32 needed with its daemons, 31900m at most)"},
		{aPod("p", 100, asking("memory", 200<<30)), testPool("a"), nil, "no instance type has enough memory (200Gi needed, 131062Mi at most)"},
		{aPod("p", 100, asking("nvidia.com/gpu", 2)), testPool("a"), nil, "no instance type has enough nvidia.com/gpu (2 needed, 0 at most)"},
		{aPod("p", 99000, asking("memory", 200<<30)), testPool("a"), nil, "no instance type has enough cpu (99 needed, 31900m at most), memory (200Gi needed, 131062Mi at most)"},
		{
			aPod("p", 3000, asking("memory", 20<<30), selecting(corev1.LabelInstanceTypeStable, "d4")), testPool("a"), nil,
			"no instance type has enough memory (20Gi needed, 16374Mi at most)",
		},
		{aPod("p", 15000), testPool("a", limited), nil, "no instance type within the pool's limits has enough cpu (15 needed, 7900m at most)"},
		{aPod("p", 7500, asking("memory", 50<<30)), testPool("a", only("d8", "e4")), nil, "no instance type has enough memory (50Gi needed, 32758Mi at most)"},
		{aPod("p", 3000, asking("memory", 12<<30)), testPool("a", only("e2", "f4")), nil, "no instance type has enough of all at once: cpu (3 needed), memory (12Gi needed)"},
		{aPod("p", 100, selecting(corev1.LabelArchStable, "arm64")), testPool("a"), nil, "no instance type has the labels and offerings it needs"},
	} {
		node := aNode("n", "d4", "z-a", "a", tc.pod)
		f := fixture{nodes: []*api.NodeState{node}, pools: []*api.NodePool{tc.pool}, daemons: tc.daemons}
		x := NewIndex(f.state())
		out := x.simulate(x.nodes[:1], false)
		require.Len(t, out.failed, 1, tc.want)
		require.Equal(t, "pool a: "+tc.want, out.failed[0].why)
	}
}
