package hubd

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/tests/documented"
)

// The tables of the documents have every metric that a hub exports, with exactly its labels, and no other.
func TestMetricsAreThoseOfTheDocuments(t *testing.T) {
	written := documented.Metrics(t, "../../docs/operations.md")
	maps.DeleteFunc(written, func(name, _ string) bool { return strings.HasPrefix(name, "flotilla_agent_") })
	maps.Copy(written, documented.Metrics(t, "../../docs/node-disruption.md"))
	require.Equal(t, written, documented.Exported(t, (&Hub{metrics: newMetrics()}).registry()))
}

// A hub that does not lead says flotilla_leading 0, what it counted of node disruption and how often its rooms ran, and
// nothing else.
func TestMetricsOfAHubThatDoesNotLead(t *testing.T) {
	h := &Hub{metrics: newMetrics()}
	h.runsOf("scheduler", "")("placement:web")
	families, err := h.registry().Gather()
	require.NoError(t, err)
	for _, family := range families {
		if name := family.GetName(); !strings.HasPrefix(name, "flotilla_disruption_") && name != "flotilla_room_runs_total" {
			require.Equal(t, "flotilla_leading", family.GetName())
			require.Zero(t, family.GetMetric()[0].GetGauge().GetValue())
		}
	}
}

// The words that a label may have stand in the row of its metric.
func TestStatesOfMetricsAreThoseOfTheDocument(t *testing.T) {
	for metric, words := range map[string][]string{"flotilla_placement_members": placementStates, "flotilla_member_placements": troubleNames[:], "flotilla_frozen": frozenWhat} {
		row := documented.Row(t, "../../docs/operations.md", "| `"+metric+"`")
		for _, word := range words {
			require.Contains(t, row, "`"+word+"`", metric)
		}
	}
}
