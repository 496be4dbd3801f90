package disruption

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
)

// Fifteen seconds later a command is checked against what has become of the member.
func TestValidate(t *testing.T) {
	quiet := func(p *api.NodePool) { p.Spec.Disruption.ConsolidateAfter = "30s" }
	member := func(change func(f *simulatetest.Member)) *simulate.State {
		f := &simulatetest.Member{
			Nodes: []*api.NodeState{simulatetest.Node("n1", "d2", "z-a", "a", simulatetest.Pod("p", 1000)), simulatetest.Node("n2", "d2", "z-a", "a"), simulatetest.Node("n3", "d2", "z-a", "a"), simulatetest.Node("x", "d4", "z-a", "")},
			Pools: []*api.NodePool{simulatetest.Pool("a", quiet)},
		}
		if change != nil {
			change(f)
		}
		return f.State()
	}
	empty := Decide(member(nil)).Commands[0]
	require.Equal(t, []string{"n2", "n3"}, empty.Nodes)
	require.True(t, NeedsValidation(&empty))
	move := Command{Method: MethodSingle, Reason: api.ReasonUnderutilized, Nodes: []string{"n1"}}
	budget := func(n string) func(*simulatetest.Member) {
		return func(f *simulatetest.Member) {
			f.Pools[0].Spec.Disruption.Budgets = []api.DisruptionBudget{{Nodes: new(n)}}
		}
	}
	nominate := func(i int) func(*simulatetest.Member) {
		return func(f *simulatetest.Member) { f.Nodes[i].NominatedUntil = metav1.NewTime(simulatetest.Now.Add(10e9)) }
	}
	for name, row := range map[string]struct {
		command Command
		change  func(*simulatetest.Member)
		nodes   []string
		why     string
	}{
		"nothing changed":              {empty, nil, []string{"n2", "n3"}, ""},
		"one is not empty any more":    {empty, func(f *simulatetest.Member) { f.Nodes[1].Pods = []api.PodState{simulatetest.Pod("q", 10)} }, []string{"n3"}, ""},
		"the budget shrank":            {empty, budget("1"), []string{"n2"}, ""},
		"one is nominated":             {empty, nominate(2), []string{"n2"}, ""},
		"none is left":                 {empty, budget("0"), nil, "no node of the command is empty and within budget any more"},
		"a move still holds":           {move, nil, []string{"n1"}, ""},
		"the node had a pod event":     {move, func(f *simulatetest.Member) { f.Nodes[0].LastPodEvent = metav1.NewTime(simulatetest.Now.Add(-10e9)) }, nil, "node n1 is no candidate any more: the node must be without pod events for 30s (consolidateAfter); 20s remain"},
		"the node is nominated":        {move, nominate(0), nil, "node n1 is no candidate any more: a pod is expected on the node until 2026-11-20T12:00:10Z"},
		"the budget of a move is gone": {move, budget("0"), nil, "the budgets no longer allow it"},
		"a new node would be needed": {move, func(f *simulatetest.Member) {
			f.Nodes[1].Pods, f.Nodes[2].Pods, f.Nodes[3].Pods = []api.PodState{simulatetest.Pod("q", 1500)}, []api.PodState{simulatetest.Pod("r", 1500)}, []api.PodState{simulatetest.Pod("s", 3500)}
		}, nil, "it would take 1 new nodes now, not 0"},
		"the node is gone": {move, func(f *simulatetest.Member) { f.Nodes = f.Nodes[1:] }, nil, "node n1 is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			got, why, ok := Validate(row.command, member(row.change))
			require.Equal(t, row.why, why)
			require.Equal(t, row.nodes, got.Nodes)
			require.Equal(t, row.why == "", ok)
		})
	}
}

// A replacement's types must still all fit.
func TestValidateReplacement(t *testing.T) {
	member := func(cpu int64) *simulate.State {
		return (&simulatetest.Member{Nodes: []*api.NodeState{simulatetest.Node("n1", "d8", "z-a", "a", simulatetest.Pod("p", cpu))}, Pools: []*api.NodePool{simulatetest.Pool("a")}}).State()
	}
	c := Decide(member(1000)).Commands[0]
	require.Equal(t, "f2", c.Replacements[0].InstanceTypes[0])
	_, _, ok := Validate(c, member(1500))
	require.True(t, ok)
	_, why, ok := Validate(c, member(3000))
	require.False(t, ok)
	require.Contains(t, why, "no longer fits")
	stale := member(1000)
	stale.Stale = "no inventory"
	_, why, ok = Validate(c, stale)
	require.False(t, ok)
	require.Equal(t, "the state is too old: no inventory", why)
}
