package disruption

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/simulate"
)

// A node older than expireAfter is replaced, oldest first, within budgets, after drift.
func TestExpiration(t *testing.T) {
	after := func(d string, change ...func(*api.NodePool)) *api.NodePool {
		return testPool("a", append([]func(*api.NodePool){func(p *api.NodePool) {
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
	old := func(pods ...api.PodState) *api.NodeState { return aged(aNode("n1", "d2", "z-a", "a", pods...), 25) }
	own := old(aPod("p", 1000))
	own.ExpireAfter = "48h"
	grace := old(aPod("p", 1000, protect))
	grace.TerminationGracePeriod = "1h"
	drift := aged(aNode("n2", "d2", "z-a", "a", aPod("q", 1000)), 1)
	drift.ProviderDrift = "ImageDrifted"
	pods := func() api.PodState { return aPod("p", 1000) }
	check(t, []row{
		{"younger", fixture{nodes: []*api.NodeState{old(pods())}, pools: []*api.NodePool{after("26h")}}, "none"},
		{"the seed's place of expireAfter", fixture{nodes: []*api.NodeState{old(pods())}, pools: []*api.NodePool{after("24h")}}, "replace [n1] by expired with a/f2[] p>new-0"},
		{"the template goes first", fixture{nodes: []*api.NodeState{old(pods())}, pools: []*api.NodePool{after("24h", func(p *api.NodePool) { p.Spec.Template.Spec.ExpireAfter = api.Never })}}, "none"},
		{"the node's own goes before the pool's", fixture{nodes: []*api.NodeState{own}, pools: []*api.NodePool{after("24h")}}, "none"},
		{"oldest first", fixture{nodes: []*api.NodeState{old(pods()), aged(aNode("n2", "d2", "z-a", "a", aPod("q", 1000)), 30)}, pools: []*api.NodePool{after("24h")}}, "replace [n2] by expired with a/f2[] q>new-0"},
		{"the budget holds it", fixture{nodes: []*api.NodeState{old(pods())}, pools: []*api.NodePool{after("24h", budget(api.DisruptionBudget{Nodes: new("0"), Reasons: []string{api.ReasonExpired}}))}}, "none"},
		{"a budget for drift does not", fixture{nodes: []*api.NodeState{old(pods())}, pools: []*api.NodePool{after("24h", budget(api.DisruptionBudget{Nodes: new("0"), Reasons: []string{api.ReasonDrifted}}))}}, "replace [n1] by expired with a/f2[] p>new-0"},
		{"a protected pod holds it", fixture{nodes: []*api.NodeState{old(aPod("p", 1000, protect))}, pools: []*api.NodePool{after("24h")}}, "none"},
		{"but not past a terminationGracePeriod", fixture{nodes: []*api.NodeState{grace}, pools: []*api.NodePool{after("24h")}}, "delete [n1] by expired"},
		{"drift goes first", fixture{nodes: []*api.NodeState{old(pods()), drift}, pools: []*api.NodePool{after("24h")}}, "replace [n2] by drift with a/f2[] q>new-0"},
		{"forceful waits for nothing", fixture{nodes: []*api.NodeState{old(aPod("p", 1000, protect))}, pools: []*api.NodePool{after("24h", forceful, budget(api.DisruptionBudget{Nodes: new("0")}))}}, "delete [n1] by expired"},
		{"pods move where there is room", fixture{nodes: []*api.NodeState{old(pods()), aNode("x", "d4", "z-a", "")}, pools: []*api.NodePool{after("24h")}}, "delete [n1] by expired p>x"},
	})
}

// The moment of expiry is when time alone changes the decision.
func TestExpirationRecheck(t *testing.T) {
	f := fixture{nodes: []*api.NodeState{aged(aNode("n1", "d2", "z-a", "a", aPod("p", 1900)), 1)}, pools: []*api.NodePool{testPool("a", func(p *api.NodePool) {
		p.Spec.Template.Spec.ExpireAfter, p.Spec.Disruption.ConsolidateAfter = "3h", api.Never
	})}}
	d := Decide(f.state())
	require.Empty(t, d.Commands)
	require.Equal(t, testNow.Add(2*time.Hour), d.Recheck)
	f.change = func(s *simulate.State) { s.Now = d.Recheck }
	require.Equal(t, "replace [n1] by expired with a/f2[] p>new-0", summary(Decide(f.state())))
}
