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
)

func inPlace(key, value string) func(*api.PodState) {
	return func(p *api.PodState) { p.NodeSelector = map[string]string{key: value} }
}

func prefersApart(app, key string) func(*api.PodState) {
	return func(p *api.PodState) {
		p.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
			{Weight: 1, PodAffinityTerm: corev1.PodAffinityTerm{LabelSelector: selecting(app), TopologyKey: key}},
		}}}
	}
}

// A pod that waits keeps the place that it has now, whatever method wants it (N23); of several nodes that would
// do one stays.
func TestPendingPodsKeepAPlace(t *testing.T) {
	empty := func(names ...string) []*api.NodeState {
		var out []*api.NodeState
		for _, n := range names {
			out = append(out, aNode(n, "d2", "z-a", "a"))
		}
		return out
	}
	closed := []*api.NodePool{testPool("a", limited("nodes", "0"))}
	full := aNode("full", "d2", "z-a", "", aPod("other", 1500))
	drift := func(n *api.NodeState) *api.NodeState { n.ProviderDrift = "ImageDrifted"; return n }
	off := func(s *simulate.State) { s.Rules.Off.PendingPods = true }
	check(t, []row{
		{"nothing waits", fixture{nodes: empty("n1"), pools: closed}, "delete [n1] by empty"},
		{"the only place", fixture{nodes: empty("n1"), pools: closed, pending: []api.PodState{aPod("p", 1000)}}, "none"},
		{"as Karpenter", fixture{nodes: empty("n1"), pools: closed, pending: []api.PodState{aPod("p", 1000)}, change: off}, "delete [n1] by empty"},
		{"a new node would do, which nobody makes", fixture{nodes: empty("n1"), pools: []*api.NodePool{testPool("a")}, pending: []api.PodState{aPod("p", 1000)}}, "none"},
		{"one of three stays", fixture{nodes: empty("n1", "n2", "n3"), pools: closed, pending: []api.PodState{aPod("p", 1000)}}, "delete [n1 n2] by empty"},
		{"two pods in one place", fixture{nodes: empty("n1", "n2", "n3"), pools: closed, pending: []api.PodState{aPod("p", 900), aPod("q", 900)}}, "delete [n1 n2] by empty"},
		{"two pods in two places", fixture{nodes: empty("n1", "n2", "n3"), pools: closed, pending: []api.PodState{aPod("p", 1000), aPod("q", 1000)}}, "delete [n1] by empty"},
		{"a choosy pod", fixture{nodes: empty("n1", "n2", "n3"), pools: closed, pending: []api.PodState{aPod("p", 1000, inPlace(corev1.LabelHostname, "n1"))}}, "delete [n2 n3] by empty"},
		{"a pod that fits nowhere", fixture{nodes: empty("n1"), pools: closed, pending: []api.PodState{aPod("p", 9000)}}, "delete [n1] by empty"},
		{"a place elsewhere", fixture{nodes: append(empty("n1"), aNode("x", "d2", "z-a", "")), pools: closed, pending: []api.PodState{aPod("p", 1000)}}, "delete [n1] by empty"},
		{"no place elsewhere", fixture{nodes: append(empty("n1"), full), pools: closed, pending: []api.PodState{aPod("p", 1000)}}, "none"},
		{"a daemon waits", fixture{nodes: empty("n1"), pools: closed, pending: []api.PodState{aPod("p", 1000, func(p *api.PodState) { p.Owner = "DaemonSet" })}}, "delete [n1] by empty"},
		{"a preference is no need", fixture{nodes: append(empty("n1"), aNode("x", "d2", "z-a", "", aPod("q", 100, labelled("q")))), pools: []*api.NodePool{testPool("a")}, pending: []api.PodState{aPod("p", 1000, prefersApart("q", corev1.LabelHostname))}}, "delete [n1] by empty"},
		{"spent budgets go on", fixture{
			nodes:   empty("n1", "n2"),
			pools:   []*api.NodePool{testPool("a", limited("nodes", "0"), func(p *api.NodePool) { p.Spec.Disruption.Budgets = []api.DisruptionBudget{{Nodes: new("1")}} })},
			pending: []api.PodState{aPod("p", 1000, inPlace(corev1.LabelHostname, "n1"))},
		}, "delete [n2] by empty"},
		{"drift of the only place", fixture{nodes: []*api.NodeState{drift(aNode("n1", "d2", "z-a", "a"))}, pools: closed, pending: []api.PodState{aPod("p", 1000)}}, "none"},
		{"drift with a replacement", fixture{nodes: []*api.NodeState{drift(aNode("n1", "d2", "z-a", "a", aPod("q", 500)))}, pools: []*api.NodePool{testPool("a")}, pending: []api.PodState{aPod("p", 1000)}}, "replace [n1] by drift with a/f2[] p>new-0 q>new-0"},
		{"one node at a time", fixture{nodes: []*api.NodeState{aNode("n1", "d2", "z-a", "a", aPod("q", 800)), aNode("x", "d2", "z-a", "", aPod("r", 900))}, pools: closed, pending: []api.PodState{aPod("p", 1000)}}, "none"},
		{"those that wait come first", fixture{
			nodes: []*api.NodeState{
				aNode("n1", "d4", "z-a", "a", aPod("q", 1500)), aNode("x", "d2", "z-a", "", aPod("r", 100)), aNode("y", "d2", "z-b", "", aPod("s", 100)),
			},
			pools: closed, pending: []api.PodState{aPod("p", 1400, inPlace(corev1.LabelTopologyZone, "z-a"))},
		}, "delete [n1] by single p>x q>y"},
		{"a set is cut", fixture{
			nodes: []*api.NodeState{
				aNode("n1", "d4", "z-a", "a", aPod("q1", 100)), aNode("n2", "d4", "z-a", "a", aPod("q2", 100)), aNode("n3", "d4", "z-a", "a", aPod("q3", 100)),
				aNode("x", "d2", "z-b", "", aPod("r", 100)),
			},
			pools: closed, pending: []api.PodState{aPod("p", 3000)},
		}, "delete [n1 n2] by multi p>n3 q1>n3 q2>n3"},
	})
}

// Whatever goes without a replacement leaves a place to every pod that waits and has one, and nothing stays
// for a pod that has one without it: counted by placing the pods as a scheduler does.
func TestWhatGoesLeavesPendingPodsTheirPlace(t *testing.T) {
	cut, judged := 0, 0
	for seed := range uint64(4 * propertySeeds) {
		f := randomMember(seed)
		f.pending = nil
		for i := range 1 + seed%4 {
			f.pending = append(f.pending, aPod(fmt.Sprintf("pending-%d", i), int64(500+300*(seed%5))))
		}
		for _, n := range f.nodes {
			n.Deleting = false // pods of nodes that go take room too
		}
		s := f.state()
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
	require.Greater(t, judged, propertySeeds)
	require.Greater(t, cut, 10)
}

// placedAlone is how many of the pods that wait find a node once some nodes are gone and their pods have moved.
func placedAlone(f *fixture, gone []string, moves []api.PodMove) int {
	c := cluster.NewCluster()
	to := map[string][]api.PodState{}
	pods := map[string]api.PodState{}
	for _, n := range f.nodes {
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
	for _, n := range f.nodes {
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
	for _, fit := range Fit(FitInput{Cluster: c, Order: order, Pods: f.pending}) {
		if fit.Node != "" {
			placed++
		}
	}
	return placed
}
