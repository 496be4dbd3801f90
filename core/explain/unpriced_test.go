package explain

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/orchestration"
	"flotilla/core/simulate/simulatetest"
)

// A price that the catalog does not know is unknown wherever people read it, not 0: in plan, why, get nodes and
// the record; the price of a node beside it is told.
func TestAnUnknownPriceIsSaid(t *testing.T) {
	elsewhere := simulatetest.Node("n2", "d2", "z-a", "a")
	elsewhere.Labels[corev1.LabelTopologyZone] = "z-none"
	f := simulatetest.Member{Nodes: []*api.NodeState{simulatetest.Node("n1", "d2", "z-a", "a"), elsewhere}, Pools: []*api.NodePool{simulatetest.Pool("a")}}
	s := f.State()
	forecast := ForeseeMember(s, "", []string{"n1", "n2"}, 0)
	require.Equal(t, []string{"n1", "n2"}, forecast.Commands[0].Nodes)
	require.Contains(t, forecast.String(), "delete n1, n2: Empty (empty), saves an unknown amount\nsaves an unknown amount in all\n")
	require.InDelta(t, 0.092, forecast.Savings.Amount, 1e-9, "what is not known counts as 0")
	require.Contains(t, forecast.Explanations[0].String(), "pool a, price 0.0920 an hour")
	require.Contains(t, forecast.Explanations[1].String(), "pool a, price unknown, ")
	raw, err := json.Marshal(forecast)
	require.NoError(t, err)
	var told struct {
		Savings      *float64
		Commands     []struct{ Savings *float64 }
		Explanations []struct{ Price *float64 }
	}
	require.NoError(t, json.Unmarshal(raw, &told))
	require.Nil(t, told.Savings)
	require.Nil(t, told.Commands[0].Savings)
	require.NotNil(t, told.Explanations[0].Price)
	require.Nil(t, told.Explanations[1].Price)

	rows := orchestration.MemberNodes(s, "berlin", &disruption.Decision{}, nil)
	require.InDelta(t, 0.092, rows[0].Status.Price.Amount, 1e-9)
	require.Equal(t, api.Hourly{Unknown: true}, rows[1].Status.Price)

	d := orchestration.Begin(&forecast.Commands[0], "x", simulatetest.Now, 2)
	require.Equal(t, api.Hourly{Unknown: true}, d.Savings, "a record is the same when it is read again")
}

// A deletion that a person asks for saves what the node costs.
func TestADeletionSavesThePrice(t *testing.T) {
	elsewhere := simulatetest.Node("n2", "d2", "z-a", "a")
	elsewhere.Labels[corev1.LabelTopologyZone] = "z-none"
	unlisted := simulatetest.Node("n4", "d2", "z-a", "a")
	unlisted.Labels[corev1.LabelInstanceTypeStable] = "x9"
	f := simulatetest.Member{Nodes: []*api.NodeState{simulatetest.Node("n1", "d2", "z-a", "a"), elsewhere, simulatetest.Node("n3", "d2", "z-a", "gone"), unlisted}, Pools: []*api.NodePool{simulatetest.Pool("a")}}
	out := orchestration.Step(orchestration.StepInput{Member: "berlin", State: *f.State(), Deletions: []orchestration.Deletion{{Node: "n1"}, {Node: "n2"}, {Node: "n3"}, {Node: "n4"}}})
	saved := map[string]string{}
	for i := range out.Record.Disruptions {
		saved[out.Record.Disruptions[i].Nodes[0]] = out.Record.Disruptions[i].Savings.String()
	}
	require.Equal(t, map[string]string{"n1": "0.0920", "n2": "unknown", "n3": "unknown", "n4": "unknown"}, saved)
	require.Contains(t, out.Events[1].Message, "saves an unknown amount")
}
