package explain

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
	"flotilla/core/strict"
)

func goesWith(f *simulatetest.Member, node string) bool {
	return slices.ContainsFunc(disruption.Decide(f.State()).Commands, func(c disruption.Command) bool { return slices.Contains(c.Nodes, node) })
}

func explained(t *testing.T, f *simulatetest.Member, node string) Explanation {
	t.Helper()
	e, found := Explain(f.State(), node)
	require.True(t, found)
	return e
}

// What a flip asks for, done to the documents themselves, makes the node go; before, it does not.
func TestFlipsDoneByHand(t *testing.T) {
	protect := map[string]string{api.AnnotationDoNotDisrupt: "true"}
	base := func(change ...func(*simulatetest.Member)) *simulatetest.Member {
		f := &simulatetest.Member{
			Nodes: []*api.NodeState{simulatetest.Node("n1", "d2", "z-a", "a", simulatetest.Pod("p", 500)), simulatetest.Node("n2", "d2", "z-a", "a", simulatetest.Pod("q", 600))},
			Pools: []*api.NodePool{simulatetest.Pool("a")},
		}
		f.Nodes[1].Annotations = protect
		for _, c := range change {
			c(f)
		}
		return f
	}
	spec := func(f *simulatetest.Member) *api.PoolDisruption { return f.Pools[0].Spec.Disruption }
	for name, row := range map[string]struct {
		in   *simulatetest.Member
		flip []string
		hand func(*simulatetest.Member)
	}{
		"a protected node": {
			base(func(f *simulatetest.Member) { f.Nodes[0].Annotations = protect }),
			[]string{"kubectl annotate node n1 karpenter.sh/do-not-disrupt-"},
			func(f *simulatetest.Member) { f.Nodes[0].Annotations = nil },
		},
		"a pod that is protected for an hour": {
			base(func(f *simulatetest.Member) {
				f.Nodes[0].Pods[0].Annotations = map[string]string{api.AnnotationDoNotDisrupt: "1h"}
				f.Nodes[0].Pods[0].Started = metav1.NewTime(simulatetest.Now.Add(-50 * time.Minute))
			}),
			[]string{"kubectl annotate pod -n default p karpenter.sh/do-not-disrupt-", "wait until 2026-11-20T12:10:00Z"},
			func(f *simulatetest.Member) {
				f.Change = func(s *simulate.State) { s.Now = simulatetest.Now.Add(10 * time.Minute) }
			},
		},
		"a budget that counts until one o'clock": {
			base(func(f *simulatetest.Member) {
				schedule, duration := "0 11 * * *", "2h"
				spec(f).Budgets = []api.DisruptionBudget{{Nodes: new("0"), Schedule: &schedule, Duration: &duration}}
			}),
			[]string{
				"wait until 2026-11-20T13:00:00Z, when the budgets change",
				"raise spec.disruption.budgets of NodePool a to 1 node for Underutilized (it is 0, and 0 are down)",
			},
			func(f *simulatetest.Member) { spec(f).Budgets = []api.DisruptionBudget{{Nodes: new("1")}} },
		},
		"a node that is down takes the budget": {
			base(func(f *simulatetest.Member) {
				spec(f).Budgets = []api.DisruptionBudget{{Nodes: new("1")}}
				down := simulatetest.Node("n3", "d2", "z-a", "a")
				down.Ready, down.Annotations = false, protect
				f.Nodes = append(f.Nodes, down)
			}),
			[]string{
				"wait until the node that is down is gone or back",
				"raise spec.disruption.budgets of NodePool a to 2 nodes for Underutilized (it is 1, and 1 are down)",
			},
			func(f *simulatetest.Member) { spec(f).Budgets = []api.DisruptionBudget{{Nodes: new("2")}} },
		},
		"a fleet-wide budget that is spent": {
			base(func(f *simulatetest.Member) {
				f.Pools[0].Annotations = map[string]string{api.AnnotationFleetBudget: "all=1"}
				f.Change = func(s *simulate.State) { s.FleetAllowed = map[string]int{"all": 0} }
			}),
			[]string{"raise all=… by 1 in the annotation flotilla.io/fleet-budget of its NodePools"},
			func(f *simulatetest.Member) {
				f.Change = func(s *simulate.State) { s.FleetAllowed = map[string]int{"all": 1} }
			},
		},
		"two things at once": {
			base(func(f *simulatetest.Member) {
				f.Nodes[0].Annotations, spec(f).ConsolidationPolicy = protect, api.WhenEmpty
			}),
			[]string{"kubectl annotate node n1 karpenter.sh/do-not-disrupt-, and set spec.disruption.consolidationPolicy of NodePool a to WhenEmptyOrUnderutilized (it is WhenEmpty)"},
			func(f *simulatetest.Member) { f.Nodes[0].Annotations, spec(f).ConsolidationPolicy = nil, "" },
		},
		"spot that is not replaced by spot": {
			base(func(f *simulatetest.Member) {
				f.Catalog = spotCatalog()
				f.Nodes[0] = simulatetest.Node("n1", "big", "z-a", "a", simulatetest.Pod("p", 500))
				f.Nodes[0].Labels[api.LabelCapacityType] = api.CapacitySpot
				f.Nodes[1].Allocatable["cpu"] = 700
				f.Pools[0].Spec.Template.Spec.Requirements = nil
			}),
			[]string{"set disruption.spotToSpot to true in the configuration of the hub"},
			func(f *simulatetest.Member) { f.Change = func(s *simulate.State) { s.Rules.SpotToSpot = true } },
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := explained(t, row.in, "n1")
			require.Equal(t, row.flip, e.Flip)
			require.Empty(t, e.NoFlip)
			require.False(t, goesWith(row.in, "n1"))
			row.hand(row.in)
			require.True(t, goesWith(row.in, "n1"))
		})
	}
}

// spotCatalog has a large type and enough small ones for spot to be replaced by spot.
func spotCatalog() *api.InstanceCatalog {
	c := &api.InstanceCatalog{ObjectMeta: metav1.ObjectMeta{Name: "spot"}}
	add := func(name, cpu string, price strict.Price) {
		c.Spec.Types = append(c.Spec.Types, api.InstanceType{
			Name: name, CPU: strict.Amount(cpu), Memory: "8Gi",
			Offerings: []api.InstanceOffering{{Zone: "z-a", CapacityType: api.CapacitySpot, Price: price}},
		})
	}
	add("big", "8", 0.5)
	for i := range 15 {
		add("small"+string(rune('a'+i)), "1", 0.05)
	}
	return c
}

// No change is named that leaves the node where it is: taking an annotation off does not help a node
// whose pods would not fit anywhere.
func TestFlipsThatDoNotHelpAreNotNamed(t *testing.T) {
	lonely := &simulatetest.Member{Nodes: []*api.NodeState{simulatetest.Node("n1", "f2", "z-a", "a", simulatetest.Pod("p", 1500))}, Pools: []*api.NodePool{simulatetest.Pool("a")}}
	lonely.Nodes[0].Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
	e := explained(t, lonely, "n1")
	require.Empty(t, e.Flip)
	require.Equal(t, "no change of a few settings makes it go", e.NoFlip)
	lonely.Nodes[0].Annotations = nil
	require.Empty(t, disruption.Decide(lonely.State()).Commands)
}

// A pod that a budget would let go needs a place as any other: without one, the budget is not named.
func TestFlipsGiveEvictedPodsAPlace(t *testing.T) {
	none := intstr.FromInt32(0)
	f := &simulatetest.Member{
		Nodes: []*api.NodeState{simulatetest.Node("n1", "f2", "z-a", "a", simulatetest.Pod("p", 1500))}, Pools: []*api.NodePool{simulatetest.Pool("a")},
		Pdbs: []api.PodBudget{{Namespace: "default", Name: "x", Selector: simulatetest.Selecting("p"), MaxUnavailable: &none}},
	}
	require.Empty(t, explained(t, f, "n1").Flip)
	f.Nodes = append(f.Nodes, simulatetest.Node("n2", "d4", "z-a", "a", simulatetest.Pod("q", 1500)))
	require.Equal(t, []string{"let PodDisruptionBudget default/x allow 1 eviction (it allows 0), by more healthy pods or a higher maxUnavailable"}, explained(t, f, "n1").Flip)
}

// Of several changes that do together, those that are not needed are left out.
func TestFlipsLeaveOutWhatIsNotNeeded(t *testing.T) {
	f := &simulatetest.Member{Nodes: []*api.NodeState{simulatetest.Node("n1", "d2", "z-a", "a")}, Pools: []*api.NodePool{simulatetest.Pool("a")}}
	f.Nodes[0].Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
	s := search{state: f.State(), node: "n1"}
	needed := change{text: "needed", apply: func(s *simulate.State) { s.EditNode("n1", func(n *api.NodeState) { n.Annotations = nil }) }}
	idle := change{text: "idle", apply: func(*simulate.State) {}}
	got := s.needed([]change{idle, needed, idle})
	require.Len(t, got, 1)
	require.Equal(t, "needed", got[0].text)
	s.trials = mostTrials
	require.Len(t, s.needed([]change{idle, needed}), 2, "a search that may try no more keeps what it has")
}

// Explaining changes nothing that can be seen.
func TestExplainLeavesTheStateAlone(t *testing.T) {
	f := &simulatetest.Member{Nodes: []*api.NodeState{simulatetest.Node("n1", "d2", "z-a", "a", simulatetest.Pod("p", 100))}, Pools: []*api.NodePool{simulatetest.Pool("a")}, Pdbs: []api.PodBudget{{Namespace: "default", Name: "x", Selector: simulatetest.Selecting("p")}}}
	f.Nodes[0].Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
	s := f.State()
	before := disruption.Decide(s)
	_, _ = Explain(s, "n1")
	require.Equal(t, before, disruption.Decide(s))
	require.Equal(t, "true", f.Nodes[0].Annotations[api.AnnotationDoNotDisrupt])
}

// A pod that no eviction moves is said to keep the node, not to fit elsewhere.
func TestRemovedAloneNamesPodsThatCannotGo(t *testing.T) {
	none := intstr.FromInt32(0)
	f := &simulatetest.Member{
		Nodes: []*api.NodeState{simulatetest.Node("n1", "d4", "z-a", "a", simulatetest.Pod("p", 100)), simulatetest.Node("n2", "d4", "z-a", "a", simulatetest.Pod("q", 100))},
		Pools: []*api.NodePool{simulatetest.Pool("a")},
		Pdbs:  []api.PodBudget{{Namespace: "default", Name: "x", Selector: simulatetest.Selecting("p"), MaxUnavailable: &none}},
	}
	f.Nodes[1].Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"}
	require.Equal(t, "it cannot be emptied: pod default/p cannot be evicted", explained(t, f, "n1").Consolidation)
	f.Nodes[0] = simulatetest.Node("n1", "d4", "z-a", "a", simulatetest.Pod("p", 100), simulatetest.Pod("r", 100))
	require.Regexp(t, `^its pod fits elsewhere, saving .* an hour; but it cannot be emptied: pod default/p cannot be evicted$`, explained(t, f, "n1").Consolidation)
	f.Nodes[1] = simulatetest.Node("n2", "d4", "z-a", "a", simulatetest.Pod("q", 3800))
	f.Nodes[0] = simulatetest.Node("n1", "f2", "z-a", "a", simulatetest.Pod("p", 100), simulatetest.Pod("r", 1500))
	require.Equal(t, "it cannot be replaced by a cheaper node; and it cannot be emptied: pod default/p cannot be evicted", explained(t, f, "n1").Consolidation)
}

// Where nothing is decided, what would keep the node all the same is said too.
func TestExplainLooksBehindWhatIsNotDecided(t *testing.T) {
	f := &simulatetest.Member{
		Nodes:  []*api.NodeState{simulatetest.Node("n1", "d2", "z-a", "a"), simulatetest.Node("n2", "d2", "z-a", "", simulatetest.Pod("p", 100))},
		Pools:  []*api.NodePool{simulatetest.Pool("a")},
		Change: func(s *simulate.State) { s.Stale = "switched off" },
	}
	e := explained(t, f, "n1")
	require.Equal(t, []string{"wait until decisions are made again: switched off"}, e.Flip)
	e = explained(t, f, "n2")
	require.Empty(t, e.Flip)
	require.Equal(t, []disruption.Code{disruption.CodeStale, disruption.CodeUnmanaged}, []disruption.Code{e.Refusals[0].Code, e.Refusals[1].Code})
	require.Equal(t, "nothing does: only nodes that Flotilla or Karpenter made are disrupted", e.NoFlip)
}

// A node that goes once others have gone is said to, and one that waits for a launch that it waits.
func TestExplainLooksPastWhatGoesFirst(t *testing.T) {
	f := &simulatetest.Member{
		Nodes: []*api.NodeState{
			simulatetest.Node("n1", "d4", "z-a", "a"), simulatetest.Node("n2", "d4", "z-a", "a", simulatetest.Pod("p", 200)), simulatetest.Node("n3", "f2", "z-a", "a", simulatetest.Pod("q", 200)),
		},
		Pools: []*api.NodePool{simulatetest.Pool("a")},
	}
	e := explained(t, f, "n2")
	require.Equal(t, 1, e.Before)
	require.Contains(t, e.String(), "node n2 goes after 1 other disruption: Underutilized (single)\n")
	require.Empty(t, e.Flip)

	drifted := simulatetest.Node("n1", "d4", "z-a", "a", simulatetest.Pod("r", 3800))
	drifted.Labels[api.LabelCapacityType] = api.CapacitySpot
	f.Nodes = []*api.NodeState{drifted, simulatetest.Node("n2", "f2", "z-a", "a", simulatetest.Pod("p", 200))}
	require.Contains(t, explained(t, f, "n2").String(), "NotReached: another disruption goes first")
}
