package disruption

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
)

// A node older than expireAfter is replaced, oldest first, within budgets, after drift.
func TestExpiration(t *testing.T) {
	after := func(d string, change ...func(*api.NodePool)) *api.NodePool {
		return simulatetest.Pool("a", append([]func(*api.NodePool){func(p *api.NodePool) {
			p.Spec.Template.Spec.ExpireAfter, p.Spec.Disruption.ExpireAfter = "", d
			p.Spec.Disruption.ConsolidateAfter = api.Never
		}}, change...)...)
	}
	budget := func(b ...api.DisruptionBudget) func(*api.NodePool) {
		return func(p *api.NodePool) { p.Spec.Disruption.Budgets = b }
	}
	forceful := func(p *api.NodePool) {
		p.Annotations = map[string]string{api.AnnotationExpiration: api.ExpirationForceful}
	}
	protect := func(p *api.PodState) { p.Annotations = map[string]string{api.AnnotationDoNotDisrupt: "true"} }
	old := func(pods ...api.PodState) *api.NodeState {
		return simulatetest.Aged(simulatetest.Node("n1", "d2", "z-a", "a", pods...), 25)
	}
	own := old(simulatetest.Pod("p", 1000))
	own.ExpireAfter = "48h"
	grace := old(simulatetest.Pod("p", 1000, protect))
	grace.TerminationGracePeriod = "1h"
	drift := simulatetest.Aged(simulatetest.Node("n2", "d2", "z-a", "a", simulatetest.Pod("q", 1000)), 1)
	drift.ProviderDrift = "ImageDrifted"
	pods := func() api.PodState { return simulatetest.Pod("p", 1000) }
	check(t, []row{
		{"younger", simulatetest.Member{Nodes: []*api.NodeState{old(pods())}, Pools: []*api.NodePool{after("26h")}}, "none"},
		{"the seed's place of expireAfter", simulatetest.Member{Nodes: []*api.NodeState{old(pods())}, Pools: []*api.NodePool{after("24h")}}, "replace [n1] by expired with a/f2[] p>new-0"},
		{"the template goes first", simulatetest.Member{Nodes: []*api.NodeState{old(pods())}, Pools: []*api.NodePool{after("24h", func(p *api.NodePool) { p.Spec.Template.Spec.ExpireAfter = api.Never })}}, "none"},
		{"the node's own goes before the pool's", simulatetest.Member{Nodes: []*api.NodeState{own}, Pools: []*api.NodePool{after("24h")}}, "none"},
		{"oldest first", simulatetest.Member{Nodes: []*api.NodeState{old(pods()), simulatetest.Aged(simulatetest.Node("n2", "d2", "z-a", "a", simulatetest.Pod("q", 1000)), 30)}, Pools: []*api.NodePool{after("24h")}}, "replace [n2] by expired with a/f2[] q>new-0"},
		{"the budget holds it", simulatetest.Member{Nodes: []*api.NodeState{old(pods())}, Pools: []*api.NodePool{after("24h", budget(api.DisruptionBudget{Nodes: new("0"), Reasons: []string{api.ReasonExpired}}))}}, "none"},
		{"a budget for drift does not", simulatetest.Member{Nodes: []*api.NodeState{old(pods())}, Pools: []*api.NodePool{after("24h", budget(api.DisruptionBudget{Nodes: new("0"), Reasons: []string{api.ReasonDrifted}}))}}, "replace [n1] by expired with a/f2[] p>new-0"},
		{"a protected pod holds it", simulatetest.Member{Nodes: []*api.NodeState{old(simulatetest.Pod("p", 1000, protect))}, Pools: []*api.NodePool{after("24h")}}, "none"},
		{"but not past a terminationGracePeriod", simulatetest.Member{Nodes: []*api.NodeState{grace}, Pools: []*api.NodePool{after("24h")}}, "delete [n1] by expired"},
		{"drift goes first", simulatetest.Member{Nodes: []*api.NodeState{old(pods()), drift}, Pools: []*api.NodePool{after("24h")}}, "replace [n2] by drift with a/f2[] q>new-0"},
		{"forceful waits for nothing", simulatetest.Member{Nodes: []*api.NodeState{old(simulatetest.Pod("p", 1000, protect))}, Pools: []*api.NodePool{after("24h", forceful, budget(api.DisruptionBudget{Nodes: new("0")}))}}, "delete [n1] by expired"},
		{"pods move where there is room", simulatetest.Member{Nodes: []*api.NodeState{old(pods()), simulatetest.Node("x", "d4", "z-a", "")}, Pools: []*api.NodePool{after("24h")}}, "delete [n1] by expired p>x"},
	})
}

// The moment of expiry is when time alone changes the decision.
func TestExpirationRecheck(t *testing.T) {
	f := simulatetest.Member{Nodes: []*api.NodeState{simulatetest.Aged(simulatetest.Node("n1", "d2", "z-a", "a", simulatetest.Pod("p", 1900)), 1)}, Pools: []*api.NodePool{simulatetest.Pool("a", func(p *api.NodePool) {
		p.Spec.Template.Spec.ExpireAfter, p.Spec.Disruption.ConsolidateAfter = "3h", api.Never
	})}}
	d := Decide(f.State())
	require.Empty(t, d.Commands)
	require.Equal(t, simulatetest.Now.Add(2*time.Hour), d.Recheck)
	f.Change = func(s *simulate.State) { s.Now = d.Recheck }
	require.Equal(t, "replace [n1] by expired with a/f2[] p>new-0", summary(Decide(f.State())))
}
