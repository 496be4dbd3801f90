package hubd

import (
	"context"
	"net"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"flotilla/bus/gate"
	"flotilla/bus/probe"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/liveness"
	"flotilla/hub/disruptor"
	"flotilla/hub/gauger"
	"flotilla/subjects"
)

// metrics are what a hub counts over all terms, and where they are served, empty when they are not.
type metrics struct {
	at         string
	disruption *disruptor.Metrics
	streams    *gauger.Metrics
	runs       *prometheus.CounterVec // of rooms
}

func newMetrics() metrics {
	return metrics{disruption: disruptor.NewMetrics(), streams: gauger.NewMetrics(), runs: newRuns()}
}

// startMetrics serves /metrics, /healthz and /readyz on the address of the options; without one it does nothing.
func (h *Hub) startMetrics(context.Context) (func(bool), error) {
	if h.options.Metrics == "" {
		return func(bool) {}, nil
	}
	listener, err := net.Listen("tcp", h.options.Metrics)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(h.registry(), promhttp.HandlerOpts{}))
	probe.Handle(mux, probe.Live, probe.Ping)
	probe.Handle(mux, probe.Ready, h.readiness()...)
	server, bounded := gate.Server(mux), gate.New(listener, h.ways.most.metrics)
	h.ways.let("metrics and health", bounded)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(bounded) // always http.ErrServerClosed, after Close
	}()
	h.metrics.at = listener.Addr().String()
	return func(bool) { _ = server.Close(); <-ended }, nil
}

// registry describes the hub in numbers.
func (h *Hub) registry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(fleetCollector{h}, h.metrics.disruption, h.metrics.streams, h.metrics.runs)
	return registry
}

// MetricsAddress is where metrics are served, empty when they are not.
func (h *Hub) MetricsAddress() string { return h.metrics.at }

var (
	leadingMetric    = prometheus.NewDesc("flotilla_leading", "1 while this hub leads.", nil, nil)
	termMetric       = prometheus.NewDesc("flotilla_term", "Number of the term this hub leads in.", nil, nil)
	membersMetric    = prometheus.NewDesc("flotilla_members", "Members by state.", []string{"state"}, nil)
	beyondMetric     = prometheus.NewDesc("flotilla_unreadable_properties", "Properties of members whose amounts are beyond bounds.", nil, nil)
	placementsMetric = prometheus.NewDesc("flotilla_placements", "Placements.", nil, nil)
	bindingsMetric   = prometheus.NewDesc("flotilla_bindings", "Members picked, over all placements.", nil, nil)
	runsMetric       = prometheus.NewDesc("flotilla_update_runs", "Update runs by state.", []string{"state"}, nil)
	auditMetric      = prometheus.NewDesc("flotilla_audit_dropped_total", "Events that could not be kept.", nil, nil)
)

var runStates = []api.UpdateState{
	api.StateNotStarted, api.StateRunning, api.StatePending, api.StateStopping, api.StateStopped, api.StateSkipped, api.StateFailed, api.StateCompleted,
}

// fleetCollector reads the fleet from the caches of the leader; a hub that does not lead tells only
// that.
type fleetCollector struct{ hub *Hub }

// Describe sends the descriptions of all metrics.
func (c fleetCollector) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		leadingMetric, termMetric, membersMetric, beyondMetric, placementsMetric, bindingsMetric, runsMetric, auditMetric,
		placementMembersMetric, placementStalledMetric, memberTroubleMetric, credentialsMetric, endMetric, frozenMetric, heldMetric,
	} {
		out <- desc
	}
}

// Collect sends the present values.
func (c fleetCollector) Collect(out chan<- prometheus.Metric) {
	s, _ := c.hub.store()
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	if s == nil {
		gauge(leadingMetric, 0)
		return
	}
	gauge(leadingMetric, 1)
	gauge(termMetric, float64(s.Term.Term))
	gauge(placementsMetric, float64(store.Reads[api.Spec](s.State.As(subjects.Hubd), subjects.PlacementSpecs).Len()))
	bindings := 0
	for _, schedule := range store.Reads[api.Schedule](s.State.As(subjects.Hubd), subjects.Schedules).All() {
		bindings += len(schedule.Value.Bindings)
	}
	gauge(bindingsMetric, float64(bindings))
	states, beyond := map[api.MemberState]int{}, 0
	for _, member := range store.Reads[api.MemberRecord](s.State.As(subjects.Hubd), subjects.Members).All() {
		states[member.Value.State]++
		beyond += len(liveness.BeyondBounds(member.Value.Properties))
	}
	gauge(beyondMetric, float64(beyond))
	for _, state := range []api.MemberState{api.MemberJoining, api.MemberReady, api.MemberNotReady, api.MemberUnknown, api.MemberLeaving} {
		gauge(membersMetric, float64(states[state]), string(state))
	}
	runs := map[api.UpdateState]int{}
	for _, run := range store.Reads[api.UpdateRunStatus](s.State.As(subjects.Hubd), subjects.Runs).All() {
		runs[run.Value.Status.State]++
	}
	for _, state := range runStates {
		gauge(runsMetric, float64(runs[state]), string(state))
	}
	c.collectPlacements(s, gauge)
	c.collectCredentials(s, gauge)
	c.collectGuards(s, gauge)
	out <- prometheus.MustNewConstMetric(auditMetric, prometheus.CounterValue, float64(s.Audit.Dropped()))
}
