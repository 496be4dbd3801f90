package disruption

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
)

// row is one decision of a table.
type row struct {
	name string
	fix  simulatetest.Member
	want string
}

func check(t *testing.T, rows []row) {
	t.Helper()
	for i := range rows {
		r := &rows[i]
		t.Run(r.name, func(t *testing.T) {
			require.Equal(t, r.want, summary(Decide(r.fix.State())))
		})
	}
}

func weighing(n int32) func(*api.NodePool) { return func(p *api.NodePool) { p.Spec.Weight = &n } }

func tolerating(key string) func(*api.PodState) {
	return func(p *api.PodState) {
		p.Tolerations = append(p.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
	}
}

// drifted is a node that its provider wants replaced, so that a new node has to be made.
func drifted(pods ...api.PodState) *api.NodeState {
	n := simulatetest.Node("n1", "d2", "z-a", "old", pods...)
	n.ProviderDrift = "ImageDrifted"
	return n
}

// The pool that makes a new node is the heaviest that can; equal ones are tried from z to a.
func TestWeights(t *testing.T) {
	off := func(p *api.NodePool) { p.Spec.Disruption.ConsolidateAfter = api.Never }
	pod := simulatetest.Pod("p", 1000)
	nodes := []*api.NodeState{drifted(pod)}
	check(t, []row{
		{"heaviest first", simulatetest.Member{Nodes: nodes, Pools: []*api.NodePool{simulatetest.Pool("old", off, weighing(1)), simulatetest.Pool("a", weighing(10)), simulatetest.Pool("b", weighing(50))}}, "replace [n1] by drift with b/f2[] p>new-0"},
		{"no weight is the least", simulatetest.Member{Nodes: nodes, Pools: []*api.NodePool{simulatetest.Pool("old", off), simulatetest.Pool("a", weighing(1)), simulatetest.Pool("z")}}, "replace [n1] by drift with a/f2[] p>new-0"},
		{"equal weights from z to a", simulatetest.Member{Nodes: nodes, Pools: []*api.NodePool{simulatetest.Pool("old", off), simulatetest.Pool("a", weighing(5)), simulatetest.Pool("m", weighing(5))}}, "replace [n1] by drift with m/f2[] p>new-0"},
		{"the heaviest is at its limit", simulatetest.Member{Nodes: nodes, Pools: []*api.NodePool{simulatetest.Pool("old", off), simulatetest.Pool("a", weighing(5)), simulatetest.Pool("b", weighing(50), simulatetest.Limited("cpu", "1"))}}, "replace [n1] by drift with a/f2[] p>new-0"},
		{"the heaviest is being deleted", simulatetest.Member{Nodes: nodes, Pools: []*api.NodePool{simulatetest.Pool("old", off), simulatetest.Pool("a", weighing(5)), simulatetest.Pool("b", weighing(50))}, Options: map[string]capacity.PoolOptions{"b": {Deleting: true}}}, "replace [n1] by drift with a/f2[] p>new-0"},
		{"the heaviest repels the pod", simulatetest.Member{Nodes: nodes, Pools: []*api.NodePool{simulatetest.Pool("old", off), simulatetest.Pool("a", weighing(5)), simulatetest.Pool("b", weighing(50), simulatetest.Tainted("gpu", corev1.TaintEffectNoSchedule))}}, "replace [n1] by drift with a/f2[] p>new-0"},
		{"the heaviest is static", simulatetest.Member{Nodes: nodes, Pools: []*api.NodePool{simulatetest.Pool("old", off), simulatetest.Pool("a", weighing(5)), simulatetest.Pool("b", weighing(50), func(p *api.NodePool) { p.Spec.Replicas = new(int32) })}}, "replace [n1] by drift with a/f2[] p>new-0"},
	})
}

// Nodes of several pools go together, each within its own pool's budgets and settings.
func TestSeveralPools(t *testing.T) {
	budget := func(n string) func(*api.NodePool) {
		return func(p *api.NodePool) { p.Spec.Disruption.Budgets = []api.DisruptionBudget{{Nodes: new(n)}} }
	}
	sharing := func(name string) func(*api.NodePool) {
		return func(p *api.NodePool) { p.Annotations = map[string]string{api.AnnotationFleetBudget: name + "=5"} }
	}
	never := func(p *api.NodePool) { p.Spec.Disruption.ConsolidateAfter = api.Never }
	empty := []*api.NodeState{simulatetest.Node("a1", "d4", "z-a", "a"), simulatetest.Node("a2", "d4", "z-a", "a"), simulatetest.Node("b1", "d4", "z-a", "b"), simulatetest.Node("b2", "d4", "z-b", "b")}
	used := []*api.NodeState{simulatetest.Node("a1", "d2", "z-a", "a", simulatetest.Pod("p", 1500)), simulatetest.Node("b1", "d2", "z-a", "b", simulatetest.Pod("q", 1500)), simulatetest.Node("x", "d4", "z-a", "")}
	check(t, []row{
		{"empty nodes of both", simulatetest.Member{Nodes: empty, Pools: []*api.NodePool{simulatetest.Pool("a"), simulatetest.Pool("b")}}, "delete [a1 a2 b1 b2] by empty"},
		{"each within its budget", simulatetest.Member{Nodes: empty, Pools: []*api.NodePool{simulatetest.Pool("a", budget("1")), simulatetest.Pool("b")}}, "delete [a1 b1 b2] by empty"},
		{"one pool is left alone", simulatetest.Member{Nodes: empty, Pools: []*api.NodePool{simulatetest.Pool("a", never), simulatetest.Pool("b")}}, "delete [b1 b2] by empty"},
		{"a pool that is unknown", simulatetest.Member{Nodes: empty, Pools: []*api.NodePool{simulatetest.Pool("b")}}, "delete [b1 b2] by empty"},
		{"nodes of two pools onto an unmanaged one", simulatetest.Member{Nodes: used, Pools: []*api.NodePool{simulatetest.Pool("a"), simulatetest.Pool("b")}}, "delete [a1 b1] by multi p>x q>x"},
		{"one budget spent, the other pool's node goes alone", simulatetest.Member{Nodes: used, Pools: []*api.NodePool{simulatetest.Pool("a", budget("0")), simulatetest.Pool("b")}}, "delete [b1] by single q>x"},
		{"a fleet budget is spent", simulatetest.Member{Nodes: used, Pools: []*api.NodePool{simulatetest.Pool("a"), simulatetest.Pool("b", sharing("web"))}, Change: func(s *simulate.State) { s.FleetAllowed = map[string]int{"web": 0} }}, "delete [a1] by single p>x"},
		{"two pools share a fleet budget", simulatetest.Member{Nodes: empty, Pools: []*api.NodePool{simulatetest.Pool("a", sharing("web")), simulatetest.Pool("b", sharing("web"))}, Change: func(s *simulate.State) { s.FleetAllowed = map[string]int{"web": 3} }}, "delete [a1 a2 b2] by empty"},
		{"a fleet budget of others", simulatetest.Member{Nodes: empty, Pools: []*api.NodePool{simulatetest.Pool("a"), simulatetest.Pool("b", sharing("api"))}, Change: func(s *simulate.State) { s.FleetAllowed = map[string]int{"web": 0} }}, "delete [a1 a2 b1 b2] by empty"},
	})
}

// Pods go only where they tolerate every taint, of whatever effect.
func TestTolerations(t *testing.T) {
	onX := func(x *api.NodeState, pod api.PodState, pools ...*api.NodePool) simulatetest.Member {
		return simulatetest.Member{Nodes: []*api.NodeState{simulatetest.Node("n1", "d2", "z-a", "a", pod), x}, Pools: pools}
	}
	taint := func(key string, effect corev1.TaintEffect) *api.NodeState {
		x := simulatetest.Node("x", "d4", "z-a", "")
		x.Taints = []corev1.Taint{{Key: key, Value: "v", Effect: effect}}
		return x
	}
	valued := func(v string) func(*api.PodState) {
		return func(p *api.PodState) { p.Tolerations = []corev1.Toleration{{Key: "k", Value: v}} }
	}
	cheap := simulatetest.Pool("a", simulatetest.Requiring(corev1.LabelInstanceTypeStable, "In", "d2"))
	soft := simulatetest.Pool("a", simulatetest.Requiring(corev1.LabelInstanceTypeStable, "In", "d2"), simulatetest.Tainted("soft", corev1.TaintEffectPreferNoSchedule))
	check(t, []row{
		{"NoSchedule is not tolerated", onX(taint("k", corev1.TaintEffectNoSchedule), simulatetest.Pod("p", 1000), cheap), "none"},
		{"tolerated by key", onX(taint("k", corev1.TaintEffectNoSchedule), simulatetest.Pod("p", 1000, tolerating("k")), cheap), "delete [n1] by single p>x"},
		{"tolerated by value", onX(taint("k", corev1.TaintEffectNoSchedule), simulatetest.Pod("p", 1000, valued("v")), cheap), "delete [n1] by single p>x"},
		{"another value", onX(taint("k", corev1.TaintEffectNoSchedule), simulatetest.Pod("p", 1000, valued("w")), cheap), "none"},
		{"NoExecute counts too", onX(taint("k", corev1.TaintEffectNoExecute), simulatetest.Pod("p", 1000), cheap), "none"},
		{"PreferNoSchedule counts", onX(taint("k", corev1.TaintEffectPreferNoSchedule), simulatetest.Pod("p", 1000), cheap), "none"},
		{"PreferNoSchedule is tolerated at last where a pool has such a taint", onX(taint("k", corev1.TaintEffectPreferNoSchedule), simulatetest.Pod("p", 1000), soft), "delete [n1] by single p>x"},
		{"every key tolerated", onX(taint("k", corev1.TaintEffectNoExecute), simulatetest.Pod("p", 1000, tolerating("")), cheap), "delete [n1] by single p>x"},
	})
}
