package disruption

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/cluster"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
)

// Pods that wait for a node are named, five of them at most.
func TestPodsThatKeepANodeAreNamed(t *testing.T) {
	var list []simulate.Failure
	for _, pod := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		list = append(list, simulate.Failure{Pod: pod})
	}
	for n, want := range map[int]string{
		1: "pod a waits for a node, and finds room nowhere else",
		5: "pods a, b, c, d, e wait for a node, and would not all find room elsewhere",
		6: "pods a, b, c, d, e, 1 more wait for a node, and would not all find room elsewhere",
		7: "pods a, b, c, d, e, 2 more wait for a node, and would not all find room elsewhere",
	} {
		require.Equal(t, want, neededText(list[:n]))
	}
}

// A pod whose own grace is longer than its node has left is deleted at once and goes last; one that has just enough time
// does not.
func TestPodsThatHaveJustEnoughTimeAreEvicted(t *testing.T) {
	n := simulatetest.Node("n1", "d8", "z-a", "a", simulatetest.Pod("long", 100, simulatetest.Ending(3601)), simulatetest.Pod("just", 100, simulatetest.Ending(3600)), simulatetest.Pod("p", 100))
	x := simulate.NewIndex((&simulatetest.Member{Nodes: []*api.NodeState{n}}).State())
	b := &bounds{now: simulatetest.Now, period: time.Hour, cover: &x.Cover, taken: map[*cluster.PodBudget]int{}}
	var order []string
	pods := slices.Clone(x.Nodes[0].Pods)
	slices.SortFunc(pods, func(p, q cluster.Pod) int { return b.order(&p, &q) })
	for i := range pods {
		order = append(order, pods[i].State.Name)
	}
	require.Equal(t, []string{"just", "p", "long"}, order)
}

// What a new node must be like leaves out what is said otherwise: its pool and the name it will have.
func TestRequirementsOfANewNode(t *testing.T) {
	c := &simulate.Claim{Pool: &capacity.Pool{Name: "a"}, Needs: capacity.NeedsOfLabels(map[string]string{
		corev1.LabelHostname: "new-0", api.LabelNodePool: "a", corev1.LabelTopologyZone: "z-a", "team": "web",
	})}
	r := replacement(c)
	require.Equal(t, []api.NodeRequirement{
		{Key: "team", Operator: "In", Values: []string{"web"}}, {Key: corev1.LabelTopologyZone, Operator: "In", Values: []string{"z-a"}},
	}, r.Requirements)
	require.Equal(t, []string{"z-a"}, r.Zones)
}

// A node whose pods cost nothing to move is not empty, unless a rule that is off says so (N5).
func TestNodesWithWorthlessPodsAreNotEmpty(t *testing.T) {
	worthless := func(p *api.PodState) { p.Annotations = map[string]string{corev1.PodDeletionCost: "-2147483647"} }
	for name, row := range map[string]struct {
		pods []api.PodState
		off  bool
		want bool
	}{
		"no pods":                {nil, false, true},
		"a worthless pod":        {[]api.PodState{simulatetest.Pod("p", 100, worthless)}, false, false},
		"a worthless pod, as N5": {[]api.PodState{simulatetest.Pod("p", 100, worthless)}, true, true},
		"a pod":                  {[]api.PodState{simulatetest.Pod("p", 100)}, true, false},
		"one of each":            {[]api.PodState{simulatetest.Pod("p", 100, worthless), simulatetest.Pod("q", 100)}, true, false},
	} {
		f := simulatetest.Member{Nodes: []*api.NodeState{simulatetest.Node("n1", "d8", "z-a", "a", row.pods...)}, Pools: []*api.NodePool{simulatetest.Pool("a")}}
		s := f.State()
		s.Rules.Off.WorthlessPods = row.off
		x := simulate.NewIndex(s)
		c := newCandidate(x, x.Nodes[0])
		require.Equal(t, row.want, c.empty, name)
	}
}
