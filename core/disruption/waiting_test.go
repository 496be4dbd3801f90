package disruption

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/cluster"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
)

func inPlace(key, value string) func(*api.PodState) {
	return func(p *api.PodState) { p.NodeSelector = map[string]string{key: value} }
}

func prefersApart(app, key string) func(*api.PodState) {
	return func(p *api.PodState) {
		p.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
			{Weight: 1, PodAffinityTerm: corev1.PodAffinityTerm{LabelSelector: simulatetest.Selecting(app), TopologyKey: key}},
		}}}
	}
}

// A pod that waits keeps the place that it has now, whatever method wants it (N23); of several nodes that would
// do one stays.
func TestPendingPodsKeepAPlace(t *testing.T) {
	empty := func(names ...string) []*api.NodeState {
		var out []*api.NodeState
		for _, n := range names {
			out = append(out, simulatetest.Node(n, "d2", "z-a", "a"))
		}
		return out
	}
	closed := []*api.NodePool{simulatetest.Pool("a", simulatetest.Limited("nodes", "0"))}
	full := simulatetest.Node("full", "d2", "z-a", "", simulatetest.Pod("other", 1500))
	drift := func(n *api.NodeState) *api.NodeState { n.ProviderDrift = "ImageDrifted"; return n }
	off := func(s *simulate.State) { s.Rules.Off.PendingPods = true }
	check(t, []row{
		{"nothing waits", simulatetest.Member{Nodes: empty("n1"), Pools: closed}, "delete [n1] by empty"},
		{"the only place", simulatetest.Member{Nodes: empty("n1"), Pools: closed, Pending: []api.PodState{simulatetest.Pod("p", 1000)}}, "none"},
		{"as Karpenter", simulatetest.Member{Nodes: empty("n1"), Pools: closed, Pending: []api.PodState{simulatetest.Pod("p", 1000)}, Change: off}, "delete [n1] by empty"},
		{"a new node would do, which nobody makes", simulatetest.Member{Nodes: empty("n1"), Pools: []*api.NodePool{simulatetest.Pool("a")}, Pending: []api.PodState{simulatetest.Pod("p", 1000)}}, "none"},
		{"one of three stays", simulatetest.Member{Nodes: empty("n1", "n2", "n3"), Pools: closed, Pending: []api.PodState{simulatetest.Pod("p", 1000)}}, "delete [n1 n2] by empty"},
		{"two pods in one place", simulatetest.Member{Nodes: empty("n1", "n2", "n3"), Pools: closed, Pending: []api.PodState{simulatetest.Pod("p", 900), simulatetest.Pod("q", 900)}}, "delete [n1 n2] by empty"},
		{"two pods in two places", simulatetest.Member{Nodes: empty("n1", "n2", "n3"), Pools: closed, Pending: []api.PodState{simulatetest.Pod("p", 1000), simulatetest.Pod("q", 1000)}}, "delete [n1] by empty"},
		{"a choosy pod", simulatetest.Member{Nodes: empty("n1", "n2", "n3"), Pools: closed, Pending: []api.PodState{simulatetest.Pod("p", 1000, inPlace(corev1.LabelHostname, "n1"))}}, "delete [n2 n3] by empty"},
		{"a pod that fits nowhere", simulatetest.Member{Nodes: empty("n1"), Pools: closed, Pending: []api.PodState{simulatetest.Pod("p", 9000)}}, "delete [n1] by empty"},
		{"a place elsewhere", simulatetest.Member{Nodes: append(empty("n1"), simulatetest.Node("x", "d2", "z-a", "")), Pools: closed, Pending: []api.PodState{simulatetest.Pod("p", 1000)}}, "delete [n1] by empty"},
		{"no place elsewhere", simulatetest.Member{Nodes: append(empty("n1"), full), Pools: closed, Pending: []api.PodState{simulatetest.Pod("p", 1000)}}, "none"},
		{"a daemon waits", simulatetest.Member{Nodes: empty("n1"), Pools: closed, Pending: []api.PodState{simulatetest.Pod("p", 1000, func(p *api.PodState) { p.Owner = "DaemonSet" })}}, "delete [n1] by empty"},
		{"a preference is no need", simulatetest.Member{Nodes: append(empty("n1"), simulatetest.Node("x", "d2", "z-a", "", simulatetest.Pod("q", 100, simulatetest.Labelled("q")))), Pools: []*api.NodePool{simulatetest.Pool("a")}, Pending: []api.PodState{simulatetest.Pod("p", 1000, prefersApart("q", corev1.LabelHostname))}}, "delete [n1] by empty"},
		{"spent budgets go on", simulatetest.Member{
			Nodes:   empty("n1", "n2"),
			Pools:   []*api.NodePool{simulatetest.Pool("a", simulatetest.Limited("nodes", "0"), func(p *api.NodePool) { p.Spec.Disruption.Budgets = []api.DisruptionBudget{{Nodes: new("1")}} })},
			Pending: []api.PodState{simulatetest.Pod("p", 1000, inPlace(corev1.LabelHostname, "n1"))},
		}, "delete [n2] by empty"},
		{"drift of the only place", simulatetest.Member{Nodes: []*api.NodeState{drift(simulatetest.Node("n1", "d2", "z-a", "a"))}, Pools: closed, Pending: []api.PodState{simulatetest.Pod("p", 1000)}}, "none"},
		{"drift with a replacement", simulatetest.Member{Nodes: []*api.NodeState{drift(simulatetest.Node("n1", "d2", "z-a", "a", simulatetest.Pod("q", 500)))}, Pools: []*api.NodePool{simulatetest.Pool("a")}, Pending: []api.PodState{simulatetest.Pod("p", 1000)}}, "replace [n1] by drift with a/f2[] p>new-0 q>new-0"},
		{"one node at a time", simulatetest.Member{Nodes: []*api.NodeState{simulatetest.Node("n1", "d2", "z-a", "a", simulatetest.Pod("q", 800)), simulatetest.Node("x", "d2", "z-a", "", simulatetest.Pod("r", 900))}, Pools: closed, Pending: []api.PodState{simulatetest.Pod("p", 1000)}}, "none"},
		{"those that wait come first", simulatetest.Member{
			Nodes: []*api.NodeState{
				simulatetest.Node("n1", "d4", "z-a", "a", simulatetest.Pod("q", 1500)), simulatetest.Node("x", "d2", "z-a", "", simulatetest.Pod("r", 100)), simulatetest.Node("y", "d2", "z-b", "", simulatetest.Pod("s", 100)),
			},
			Pools: closed, Pending: []api.PodState{simulatetest.Pod("p", 1400, inPlace(corev1.LabelTopologyZone, "z-a"))},
		}, "delete [n1] by single p>x q>y"},
		{"a set is cut", simulatetest.Member{
			Nodes: []*api.NodeState{
				simulatetest.Node("n1", "d4", "z-a", "a", simulatetest.Pod("q1", 100)), simulatetest.Node("n2", "d4", "z-a", "a", simulatetest.Pod("q2", 100)), simulatetest.Node("n3", "d4", "z-a", "a", simulatetest.Pod("q3", 100)),
				simulatetest.Node("x", "d2", "z-b", "", simulatetest.Pod("r", 100)),
			},
			Pools: closed, Pending: []api.PodState{simulatetest.Pod("p", 3000)},
		}, "delete [n1 n2] by multi p>n3 q1>n3 q2>n3"},
	})
}

// Whatever goes without a replacement leaves a place to every pod that waits and has one, and nothing stays
// for a pod that has one without it: counted by placing the pods as a scheduler does.
func TestWhatGoesLeavesPendingPodsTheirPlace(t *testing.T) {
	cut, judged := 0, 0
	for seed := range uint64(4 * simulatetest.PropertySeeds) {
		f := simulatetest.RandomMember(seed)
		f.Pending = nil
		for i := range 1 + seed%4 {
			f.Pending = append(f.Pending, simulatetest.Pod(fmt.Sprintf("pending-%d", i), int64(500+300*(seed%5))))
		}
		for _, n := range f.Nodes {
			n.Deleting = false // pods of nodes that go take room too
		}
		s := f.State()
		before := placedAlone(f, nil, nil)
		d := Decide(s)
		for i := range d.Commands {
			c := &d.Commands[i]
			if len(c.Replacements) > 0 || c.Forceful {
				continue
			}
			judged++
			require.GreaterOrEqual(t, placedAlone(f, c.Nodes, c.Moves), before, "seed %d: %s", seed, c)
		}
		for _, v := range d.Verdicts {
			if slices.ContainsFunc(v.Refusals, func(r Refusal) bool { return r.Code == CodePendingPodNeedsIt && r.Method == MethodEmpty }) {
				cut++
				gone := []string{v.Node}
				for _, c := range d.Commands {
					gone = append(gone, c.Nodes...)
				}
				require.Less(t, placedAlone(f, gone, nil), before, "seed %d: %s could go too", seed, v.Node)
			}
		}
	}
	t.Log(judged, cut)
	require.Greater(t, judged, simulatetest.PropertySeeds)
	require.Greater(t, cut, 10)
}

// placedAlone is how many of the pods that wait find a node once some nodes are gone and their pods have moved.
func placedAlone(f *simulatetest.Member, gone []string, moves []api.PodMove) int {
	c := cluster.NewCluster()
	to := map[string][]api.PodState{}
	pods := map[string]api.PodState{}
	for _, n := range f.Nodes {
		for _, p := range n.Pods {
			pods[p.Namespace+"/"+p.Name] = p
		}
	}
	for _, m := range moves {
		if slices.Contains(gone, m.From) {
			to[m.To] = append(to[m.To], pods[m.Pod])
		}
	}
	var order []string
	for _, n := range f.Nodes {
		if slices.Contains(gone, n.Name) {
			continue
		}
		copied := *n
		copied.Pods = append(slices.Clone(n.Pods), to[n.Name]...)
		c.Set(&copied)
		if !n.Deleting {
			order = append(order, n.Name)
		}
	}
	placed := 0
	for _, fit := range simulatetest.Fit(simulatetest.FitInput{Cluster: c, Order: order, Pods: f.Pending}) {
		if fit.Node != "" {
			placed++
		}
	}
	return placed
}
