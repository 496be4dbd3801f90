package nodes

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
	"flotilla/core/explain"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// staying are nodes that stay for one reason.
func staying(code disruption.Code, nodes ...string) []disruption.Verdict {
	var out []disruption.Verdict
	for _, node := range nodes {
		out = append(out, disruption.Verdict{Node: node, Refusals: []disruption.Refusal{{Code: code, Message: "because"}}})
	}
	return out
}

// A plan of the fleet tells what goes, and no node that stays by itself: each member has a line, and those
// whose nodes can never go share one.
func TestPlanOfTheFleetIsShort(t *testing.T) {
	member := func(name, stale string, savings float64, commands []disruption.Command, verdicts ...disruption.Verdict) explain.MemberForecast {
		return explain.MemberForecast{Member: name, Nodes: len(verdicts), Forecast: explain.Forecast{
			Commands: commands, Verdicts: verdicts, Savings: api.Hourly{Amount: savings}, Stale: stale, Before: map[string]map[string]capacity.Count{api.ReasonEmpty: {"general": 0}},
		}}
	}
	gone := []disruption.Command{{Method: disruption.MethodEmpty, Reason: api.ReasonEmpty, Nodes: []string{"b-1"}, Savings: api.Hourly{Amount: 0.25}}}
	pinned := disruption.Verdict{Node: "b-4", Refusals: []disruption.Refusal{{Code: disruption.CodeNominated}}, Lasting: &disruption.Refusal{Code: disruption.CodePDB}}
	all := &FleetNodePlan{At: time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC), Savings: api.Hourly{Amount: 0.25}, Members: []explain.MemberForecast{
		member("berlin", "", 0.25, gone, append(staying(disruption.CodeBudget, "b-2", "b-3"), disruption.Verdict{Node: "b-1", Disrupt: api.ReasonEmpty}, pinned)...),
		member("lyon", "", 0, nil, staying(disruption.CodeUnmanaged, "l-1", "l-2")...),
		member("osaka", "", 0, nil, append(staying(disruption.CodeUnmanaged, "o-1"), staying(disruption.CodeNodeProtected, "o-2")...)...),
		member("oslo", "", 0, nil),
		member("rome", "the member is Unknown", 0, nil, staying(disruption.CodeStale, "r-1")...),
		member("tampa", "", 0, nil, staying(disruption.CodeUnmanaged, "t-1")...),
	}}
	var out bytes.Buffer
	a := Commands{Client: resource.New(session.New(session.Environment{Out: &out}))}
	require.NoError(t, a.printFleetPlan(all))
	require.Equal(t, `at 2026-03-02T08:00:00Z

member berlin:
delete b-1: Empty (empty), saves 0.2500 an hour

MEMBER      NODES   GO   LAUNCH   SAVES/H   THE OTHER NODES STAY BECAUSE
berlin      4       1    0        0.2500    BudgetSpent (2), PDBBlocks (1)
osaka       2       0    0        0.0000    DoNotDisruptNode (1), Unmanaged (1)
rome        1       0    0        0.0000    nothing is decided: the member is Unknown
3 members   3       0    0        0.0000    Unmanaged (3): lyon, oslo, tampa
in all      10      1    0        0.2500
`, out.String())

	out.Reset()
	for range 6 {
		all.Members = append(all.Members, member("x", "", 0, nil))
	}
	all.Members = all.Members[6:]
	require.NoError(t, a.printFleetPlan(all))
	require.Contains(t, out.String(), "6 members   0       0    0        0.0000    no nodes: x, x, x, x, x and 1 more\n")

	out.Reset()
	a.Err = &out
	require.Empty(t, firstManaged(&all.Members[0]))
	require.NoError(t, a.nodesPlanned(all.Members))
	require.Empty(t, out.String(), "there is no node to ask about")
	two := []explain.MemberForecast{member("tampa", "", 0, nil, staying(disruption.CodeUnmanaged, "t-1")...), member("osaka", "", 0, nil, staying(disruption.CodeBudget, "o-2")...)}
	require.NoError(t, a.nodesPlanned(two))
	require.Equal(t, "next: flotilla plan nodes -m osaka\n", out.String())
	out.Reset()
	require.NoError(t, a.nodesPlanned(two[1:]))
	require.Equal(t, "next: flotilla why node/o-2 -m osaka\n", out.String())
}
