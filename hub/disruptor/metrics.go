package disruptor

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
	"flotilla/core/orchestration"
)

// Metrics of node disruption over all members, for Prometheus; they outlive a term of leadership. They
// may be used from any goroutine.
type Metrics struct {
	duration    prometheus.Histogram
	simulations prometheus.Counter
	decisions   *prometheus.CounterVec
	rejected    prometheus.Counter
	failures    *prometheus.CounterVec
	disrupted   *prometheus.CounterVec
	savings     prometheus.Counter
	unreadable  prometheus.Counter
	eligible    *prometheus.Desc
	allowed     *prometheus.Desc

	mu      sync.Mutex
	members map[string]gauges
}

// gauges are what the newest decision about a member says.
type gauges struct {
	eligible map[string]int                       // by method
	allowed  map[string]map[string]capacity.Count // by reason and pool
}

// NewMetrics returns metrics that have counted nothing.
func NewMetrics() *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "flotilla_disruption_" + name, Help: help}, labels)
	}
	return &Metrics{
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "flotilla_disruption_decision_seconds", Help: "How long decisions about one member take.",
			Buckets: []float64{.001, .003, .01, .03, .1, .3, 1, 3, 10},
		}),
		simulations: prometheus.NewCounter(prometheus.CounterOpts{Name: "flotilla_disruption_simulations_total", Help: "Moves of pods that were simulated."}),
		decisions:   counter("decisions_total", "Commands that were chosen.", "decision", "reason", "method"),
		rejected:    prometheus.NewCounter(prometheus.CounterOpts{Name: "flotilla_disruption_failed_validations_total", Help: "Chosen commands that no longer held when they were checked again."}),
		failures:    counter("failures_total", "Disruptions that were given up after they had begun.", "reason"),
		disrupted:   counter("nodes_disrupted_total", "Nodes whose disruption began.", "reason", "nodepool"),
		savings:     prometheus.NewCounter(prometheus.CounterOpts{Name: "flotilla_disruption_savings_per_hour_total", Help: "What disruptions that are done save an hour, in the currency of the catalogs."}),
		unreadable:  prometheus.NewCounter(prometheus.CounterOpts{Name: "flotilla_disruption_unreadable_reports_total", Help: "Reports of agents on their nodes that could not be read."}),
		eligible:    prometheus.NewDesc("flotilla_disruption_eligible_nodes", "Nodes that a method could take, before budgets.", []string{"method"}, nil),
		allowed:     prometheus.NewDesc("flotilla_disruption_allowed_nodes", "Nodes that may be disrupted beyond those that are; pools without a limit are left out.", []string{"nodepool", "reason"}, nil),
		members:     map[string]gauges{},
	}
}

func (x *Metrics) parts() []prometheus.Collector {
	return []prometheus.Collector{x.duration, x.simulations, x.decisions, x.rejected, x.failures, x.disrupted, x.savings, x.unreadable}
}

// Describe sends the descriptions of all metrics.
func (x *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, part := range x.parts() {
		part.Describe(out)
	}
	out <- x.eligible
	out <- x.allowed
}

// Collect sends the present values.
func (x *Metrics) Collect(out chan<- prometheus.Metric) {
	for _, part := range x.parts() {
		part.Collect(out)
	}
	eligible, allowed := x.sums()
	for method, n := range eligible {
		out <- prometheus.MustNewConstMetric(x.eligible, prometheus.GaugeValue, float64(n), method)
	}
	for at, n := range allowed {
		out <- prometheus.MustNewConstMetric(x.allowed, prometheus.GaugeValue, float64(n), at.pool, at.reason)
	}
}

type poolReason struct{ pool, reason string }

// sums adds up what is known of members.
func (x *Metrics) sums() (eligible map[string]int, allowed map[poolReason]int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	eligible, allowed = map[string]int{}, map[poolReason]int{}
	for _, g := range x.members {
		for method, n := range g.eligible {
			eligible[method] += n
		}
		for reason, pools := range g.allowed {
			for pool, n := range pools {
				if n < capacity.Unbounded {
					allowed[poolReason{pool, reason}] += int(n)
				}
			}
		}
	}
	return eligible, allowed
}

// reset forgets what members looked like: another hub may lead by then.
func (x *Metrics) reset() {
	x.mu.Lock()
	defer x.mu.Unlock()
	clear(x.members)
}

func (x *Metrics) forget(member string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.members, member)
}

// evaluated takes in a decision and how long it took.
func (x *Metrics) evaluated(member string, d *disruption.Decision, took time.Duration) {
	x.duration.Observe(took.Seconds())
	x.simulations.Add(float64(d.Evaluated))
	g := gauges{eligible: map[string]int{}, allowed: d.Budgets}
	for method, nodes := range d.Eligible {
		g.eligible[method] = len(nodes)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.members[member] = g
}

// stepped takes in what was chosen, what began and what came of what had.
func (x *Metrics) stepped(s *situation, out *orchestration.StepResult) {
	x.rejected.Add(float64(out.Failed))
	if out.Decision != nil {
		for i := range out.Decision.Commands {
			c := &out.Decision.Commands[i]
			x.decisions.WithLabelValues(c.Decision(), c.Reason, c.Method).Inc()
		}
	}
	for i := range out.Record.Disruptions {
		d := &out.Record.Disruptions[i]
		if slices.Contains(out.Began, d.ID) {
			for _, n := range d.Nodes {
				x.disrupted.WithLabelValues(d.Reason, poolOf(s, n)).Inc()
			}
		}
		switch {
		case !slices.Contains(out.Ended, d.ID):
		case d.Phase == api.PhaseAborted:
			x.failures.WithLabelValues(d.Reason).Inc()
		case d.Phase == api.PhaseDone && !d.Savings.Unknown && d.Savings.Amount > 0:
			x.savings.Add(d.Savings.Amount)
		}
	}
}

func poolOf(s *situation, node string) string {
	n, _ := s.in.State.Cluster.Node(node)
	if n == nil {
		return ""
	}
	return n.Labels[api.LabelNodePool]
}
