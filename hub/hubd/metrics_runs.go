package hubd

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// newRuns counts how often rooms look at something.
func newRuns() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "flotilla_room_runs_total", Help: "How often a room looked at something, by what it is.",
	}, []string{"room", "of"})
}

// runsOf counts those of one room. What stands before the colon of a key says what it is of, in a key without one the
// name given here.
func (h *Hub) runsOf(room, otherwise string) func(key string) {
	return func(key string) {
		of, _, found := strings.Cut(key, ":")
		if !found {
			of = otherwise
		}
		h.metrics.runs.WithLabelValues(room, of).Inc()
	}
}
