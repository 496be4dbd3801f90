package gauger_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/hub/gauger"
	"flotilla/tests/elsewhen"
)

// A server of three that goes is counted at once, told of when it stays away, and told of again when it is back.
func TestAServerThatIsAwayIsToldOfUntilItIsBack(t *testing.T) {
	var options []*server.Options
	servers := bustest.Cluster(t, func(o *server.Options) { options = append(options, o) })
	var ahead atomic.Int64
	c := bustest.HubOf(t, servers[:1], bus.Options{Now: func() time.Time { return elsewhen.Now().Add(time.Duration(ahead.Load())) }})
	metrics := gauger.NewMetrics()
	g := start(t, bustest.Lead(t, c, "hub-test", store.LeadOptions{}), metrics)
	bustest.EventuallyIn(t, 30*time.Second, func() error { return replicasAre(t, metrics, "current", 3) })

	servers[2].Shutdown()
	servers[2].WaitForShutdown()
	bustest.EventuallyIn(t, 30*time.Second, func() error { return replicasAre(t, metrics, "current", 2) })
	require.Empty(t, g.Problems())
	ahead.Store(int64(31 * time.Second))
	bustest.EventuallyIn(t, 30*time.Second, func() error {
		if problems := g.Problems(); len(problems) != 1 {
			return fmt.Errorf("problems: %+v", problems)
		}
		return nil
	})
	problem := g.Problems()[0]
	require.Equal(t, "server/n2", problem.Object)
	require.Regexp(t, `^it keeps no current replica of \d+ streams, 2 of 3 are left: if another server goes, nothing is stored$`, problem.Message)

	bustest.StartServer(t, options[2])
	bustest.EventuallyIn(t, 30*time.Second, func() error {
		if problems := g.Problems(); len(problems) > 0 {
			return fmt.Errorf("still %+v", problems)
		}
		return replicasAre(t, metrics, "current", 3)
	})
}

// replicasAre says that every stream has so many replicas in a state.
func replicasAre(t *testing.T, metrics *gauger.Metrics, state string, wanted float64) error {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics)
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() != "flotilla_stream_replicas" {
			continue
		}
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["state"] == state && m.GetGauge().GetValue() != wanted {
				return fmt.Errorf("%s has %v %s", labels["stream"], m.GetGauge().GetValue(), state)
			}
		}
		return nil
	}
	return fmt.Errorf("no replicas")
}
