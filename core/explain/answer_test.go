package explain

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
	"flotilla/core/orchestration"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
)

// A launch ends a forecast, which says so; what it replaces is not taken to be gone for the nodes that are
// named.
func TestForeseeMemberEndsAtALaunch(t *testing.T) {
	f := simulatetest.Member{
		Nodes: []*api.NodeState{simulatetest.Node("n1", "d8", "z-a", "a", simulatetest.Pod("p", 1000)), simulatetest.Node("n2", "f2", "z-a", "a", simulatetest.Pod("q", 1500))},
		Pools: []*api.NodePool{simulatetest.Pool("a", func(p *api.NodePool) { p.Annotations = map[string]string{api.AnnotationFleetBudget: "all=4"} })},
		Change: func(s *simulate.State) {
			s.FleetAllowed = map[string]int{"all": 4}
			s.Now = simulatetest.Now.Add(300 * time.Millisecond)
		},
	}
	f.Nodes[1].Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
	got := ForeseeMember(f.State(), "berlin", []string{"n1", "n2"}, 0)
	require.Equal(t, "berlin", got.Member)
	require.Equal(t, simulatetest.Now, got.At, "to the second")
	require.Equal(t, 2, got.Nodes)
	require.Len(t, got.Commands, 1)
	require.Equal(t, []string{"n1"}, got.Commands[0].Nodes)
	require.Equal(t, "further disruptions are decided when new-0 is ready", got.Then)
	require.Contains(t, got.String(), "an hour in all\nfurther disruptions are decided when new-0 is ready\n")
	require.Equal(t, map[string]int{"all": 3}, got.FleetBudgets)
	require.Len(t, got.Explanations, 2)
	require.Equal(t, []string{"n1", api.ReasonUnderutilized}, []string{got.Explanations[0].Node, got.Explanations[0].Disrupt})
	require.Equal(t, got.Commands[0].Replacements[0].InstanceTypes, got.Explanations[0].Command.Replacements[0].InstanceTypes)
	require.Equal(t, []string{"n2", ""}, []string{got.Explanations[1].Node, got.Explanations[1].Disrupt})

	require.Empty(t, launches(nil))
	require.Equal(t, "further disruptions are decided when the 3 new nodes are ready", launches([]disruption.Command{
		{Replacements: make([]disruption.Replacement, 2)}, {Replacements: make([]disruption.Replacement, 1)},
	}))
}

// What a plan deletes is taken to be gone for the nodes that are named: they are explained as they stand then.
func TestForeseeMemberExplainsWhatComesAfterThePlan(t *testing.T) {
	f := simulatetest.Member{
		Nodes: []*api.NodeState{
			simulatetest.Node("n1", "d8", "z-a", "a"), simulatetest.Node("n2", "d2", "z-a", "a", simulatetest.Pod("p", 100)), simulatetest.Node("n3", "d2", "z-a", "a", simulatetest.Pod("q", 100)),
		},
		Pools: []*api.NodePool{simulatetest.Pool("a")},
	}
	got := ForeseeMember(f.State(), "berlin", []string{"n2"}, 1)
	require.Equal(t, []string{"n1"}, got.Commands[0].Nodes)
	require.Len(t, got.Commands, 1)
	require.Contains(t, got.Explanations[0].String(), "node n2 goes now: Underutilized (multi)")
}

// An answer about a node has what its member's record says of it, and nothing of other nodes.
func TestAnswer(t *testing.T) {
	f := simulatetest.Member{Nodes: []*api.NodeState{simulatetest.Node("n1", "d2", "z-a", "a", simulatetest.Pod("p", 100)), simulatetest.Node("n2", "d2", "z-a", "a")}, Pools: []*api.NodePool{simulatetest.Pool("a")}}
	record := &api.DisruptionRecord{
		Disruptions: []api.Disruption{
			{ID: "old", Nodes: []string{"n1"}, Phase: api.PhaseAborted}, {ID: "now", Nodes: []string{"n2"}, Phase: api.PhaseLaunching},
		},
		Backoffs: []api.NodeBackoff{{Node: "n1", Failures: 2, Why: "no capacity"}},
	}
	one, found := Answer(f.State(), "berlin", "n1", record)
	require.True(t, found)
	require.Nil(t, one.Running, "it is over")
	require.Equal(t, "no capacity", one.Backoff.Why)
	two, found := Answer(f.State(), "berlin", "n2", record)
	require.True(t, found)
	require.Equal(t, "now", two.Running.ID)
	f.Change = func(s *simulate.State) { s.Busy = map[string]bool{"n2": true} }
	goes, _ := Answer(f.State(), "berlin", "n2", record)
	require.Equal(t, "nothing is needed: it goes already", goes.NoFlip)
	record.Disruptions[1].Message = "PodDisruptionBudget shop/db refuses"
	waits, _ := Answer(f.State(), "berlin", "n2", record)
	require.Equal(t, "what disruption now waits for has to end", waits.NoFlip)
	require.Nil(t, two.Backoff)
	_, found = Answer(f.State(), "berlin", "n3", record)
	require.False(t, found)
}

// The states of nodes, from the one that matters most; prices and verdicts beside them.
func TestMemberNodes(t *testing.T) {
	node := func(name string, change func(*api.NodeState)) *api.NodeState {
		n := simulatetest.Node(name, "d2", "z-a", "a", simulatetest.Pod("p-"+name, 250))
		done := simulatetest.Pod("done-"+name, 900)
		done.Phase = string(corev1.PodSucceeded)
		n.Pods = append(n.Pods, done)
		if change != nil {
			change(n)
		}
		return n
	}
	f := simulatetest.Member{
		Pools: []*api.NodePool{simulatetest.Pool("a")},
		Nodes: []*api.NodeState{
			node("n1", nil), node("n2", func(n *api.NodeState) { n.Ready = false }), node("n3", func(n *api.NodeState) { n.Initialized = false }),
			node("n4", nil), node("n5", func(n *api.NodeState) { n.Deleting = true }), node("n6", func(n *api.NodeState) { n.InstanceTerminating = true }),
			node("n7", func(n *api.NodeState) {
				n.Managed, n.Initialized, n.Labels = false, false, map[string]string{"node.kubernetes.io/instance-type": "d2"}
			}),
		},
	}
	s := f.State()
	decision := disruption.Decision{Verdicts: []disruption.Verdict{
		{Node: "n1", Disrupt: api.ReasonEmpty, Method: disruption.MethodEmpty}, {Node: "n2", Refusals: []disruption.Refusal{{Code: disruption.CodeBudget, Message: "spent"}}},
	}}
	rows := orchestration.MemberNodes(s, "berlin", &decision, []api.Disruption{
		{ID: "x", Phase: api.PhaseDraining, Nodes: []string{"n4"}}, {ID: "y", Phase: api.PhaseDone, Nodes: []string{"n1"}},
	})
	states := map[string]string{}
	for _, row := range rows {
		states[row.Name] = row.Status.State
		require.Equal(t, "berlin", row.Spec.Member)
		require.Equal(t, api.KindMemberNode, row.Kind)
		require.Equal(t, 1, row.Status.Pods, "a pod that ended is none")
		require.Equal(t, int64(250), row.Status.Requested["cpu"])
	}
	require.Equal(t, map[string]string{
		"n1": api.NodeReady, "n2": api.NodeNotReady, "n3": api.NodeNotInitialized, "n4": api.NodeDisrupting, "n5": api.NodeDeleting, "n6": api.NodeDeleting,
		"n7": api.NodeReady,
	}, states)
	require.Equal(t, &api.NodeVerdict{Disrupt: api.ReasonEmpty, Method: disruption.MethodEmpty}, rows[0].Status.Verdict)
	require.Equal(t, &api.NodeVerdict{Code: "BudgetSpent", Message: "spent"}, rows[1].Status.Verdict)
	require.Nil(t, rows[2].Status.Verdict, "the decision did not know it")
	require.Equal(t, []string{"x", api.PhaseDraining}, []string{rows[3].Status.Disruption, rows[3].Status.Phase})
	require.InDelta(t, 0.092, rows[0].Status.Price.Amount, 1e-9)
	require.Equal(t, api.Hourly{Unknown: true}, rows[6].Status.Price, "no pool says which catalog is its")
	require.Empty(t, orchestration.MemberNodes((&simulatetest.Member{}).State(), "oslo", &disruption.Decision{}, nil))
}

// Budgets that cannot be evaluated allow nothing, and say why.
func TestReportBudgets(t *testing.T) {
	never := "61 * * * *"
	hour := "1h"
	f := simulatetest.Member{
		Pools: []*api.NodePool{
			simulatetest.Pool("b", func(p *api.NodePool) { p.Spec.Disruption.Budgets = []api.DisruptionBudget{{Nodes: new("50%")}} }),
			simulatetest.Pool("a", func(p *api.NodePool) {
				p.Annotations = map[string]string{api.AnnotationFleetBudget: "all=1"}
				p.Spec.Disruption.Budgets = []api.DisruptionBudget{{Nodes: new("5"), Schedule: &never, Duration: &hour}}
			}),
		},
		Nodes:  []*api.NodeState{simulatetest.Node("n1", "d2", "z-a", "b"), simulatetest.Node("n2", "d2", "z-a", "b"), simulatetest.Node("n3", "d2", "z-a", "b")},
		Change: func(s *simulate.State) { s.Busy = map[string]bool{"n1": true} },
	}
	rows := disruption.ReportBudgets(f.State(), "berlin")
	require.Equal(t, []string{"a", "b"}, []string{rows[0].Name, rows[1].Name})
	require.Contains(t, rows[0].Invalid, "budgets[0]: schedule")
	require.Equal(t, "all", rows[0].FleetBudget)
	require.Zero(t, rows[0].Limits[api.ReasonEmpty])
	require.Equal(t, []capacity.Count{3, 1, 2, 1}, []capacity.Count{capacity.Count(rows[1].Nodes), capacity.Count(rows[1].Disrupting), rows[1].Limits[api.ReasonDrifted], rows[1].Allowed[api.ReasonDrifted]})
	require.Equal(t, []capacity.Span{{From: simulatetest.Now, To: simulatetest.Now.Add(disruption.CalendarAhead), Limits: rows[1].Limits}}, rows[1].Calendar)
}

// A pool without a limit has none however many of its nodes are down, in every form.
func TestNoLimitIsSaid(t *testing.T) {
	unlimited := simulatetest.Pool("a", func(p *api.NodePool) { p.Spec.Disruption.Budgets = []api.DisruptionBudget{} })
	down := simulatetest.Node("n1", "d2", "z-a", "a", simulatetest.Pod("p", 1000))
	down.Ready = false
	f := simulatetest.Member{Pools: []*api.NodePool{unlimited}, Nodes: []*api.NodeState{down, simulatetest.Node("n2", "d2", "z-a", "a", simulatetest.Pod("q", 1900))}}
	report := disruption.ReportBudgets(f.State(), "berlin")
	require.Equal(t, 1, report[0].Disrupting)
	require.Equal(t, "no limit", report[0].Allowed[api.ReasonEmpty].String())
	forecast := Foresee(f.State(), 0)
	require.Contains(t, forecast.String(), "a (any reason): no limit -> no limit\n")
	for _, value := range []any{report, forecast} {
		raw, err := json.Marshal(value)
		require.NoError(t, err)
		require.NotContains(t, string(raw), "21474836")
		require.Contains(t, string(raw), `"Drifted":`)
	}
	raw, err := json.Marshal(report[0].Allowed)
	require.NoError(t, err)
	require.JSONEq(t, `{"Drifted":null,"Empty":null,"Expired":null,"Underutilized":null}`, string(raw))
	var again map[string]capacity.Count
	require.NoError(t, json.Unmarshal(raw, &again))
	require.Equal(t, report[0].Allowed, again)
	require.NoError(t, json.Unmarshal([]byte(`{"Empty":0,"Drifted":7}`), &again))
	require.Equal(t, capacity.Count(0), again[api.ReasonEmpty])
	require.Equal(t, capacity.Count(7), again[api.ReasonDrifted])
}
