package disruptor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
)

// values are what a registry shows: "name{label,label}" to value; of histograms the count.
func values(t *testing.T, m *Metrics) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	families, err := registry.Gather()
	require.NoError(t, err)
	out := map[string]float64{}
	for _, f := range families {
		for _, one := range f.GetMetric() {
			var labels []string
			for _, l := range one.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			name := strings.TrimPrefix(f.GetName(), "flotilla_disruption_") + "{" + strings.Join(labels, ",") + "}"
			out[name] = one.GetCounter().GetValue() + one.GetGauge().GetValue() + float64(one.GetHistogram().GetSampleCount())
		}
	}
	return out
}

// Metrics count over all members what was chosen, began, failed and saved, and outlive a term.
func TestMetrics(t *testing.T) {
	o := quick()
	o.Metrics = NewMetrics()
	h := newHarness(t, o, "berlin", "oslo")
	h.pool("a", "100%")
	h.nodes("berlin", aNode("n1", "a", 4), aNode("n2", "a", 4, 3800))
	h.nodes("oslo", aNode("n1", "a", 16, 500))
	r := h.eventually("berlin", "empty n1 Draining")
	h.finish("berlin", &r.Disruptions[0])
	h.eventually("berlin", "empty n1 Done")
	r = h.eventually("oslo", "single n1 Launching")
	d := r.Disruptions[0]
	h.result("oslo", d.ID, api.PhaseLaunching, replacementIs(api.NodeReplacement{Name: d.Replacements[0].Name, Failed: "no capacity"}))
	h.eventually("oslo", "single n1 Aborted")
	h.result("oslo", d.ID, api.PhaseAborted)
	h.locked("oslo", "")
	h.decided("berlin", "n2", "NotCheaper")
	h.decided("oslo", "n1", "BackedOff")
	var seen map[string]float64
	bustest.Eventually(t, func() error {
		if seen = values(t, o.Metrics); seen["eligible_nodes{single}"] != 1 {
			return fmt.Errorf("metrics: %v", seen)
		}
		return nil
	})
	for name, want := range map[string]float64{
		"decisions_total{delete,empty,Empty}": 1, "decisions_total{replace,single,Underutilized}": 1, "failures_total{Underutilized}": 1,
		"nodes_disrupted_total{a,Empty}": 1, "nodes_disrupted_total{a,Underutilized}": 1, "savings_per_hour_total{}": 0.2, "failed_validations_total{}": 0,
		"allowed_nodes{a,Empty}": 2, // one of berlin's and one of oslo's
	} {
		require.InDelta(t, want, seen[name], 1e-9, name)
	}
	require.GreaterOrEqual(t, seen["decision_seconds{}"], 4.)
	require.Positive(t, seen["simulations_total{}"])
	h.stop()
	again := values(t, o.Metrics)
	require.InDelta(t, 1, again["failures_total{Underutilized}"], 0)
	require.NotContains(t, again, "eligible_nodes{single}", "who does not lead knows no nodes")
}
