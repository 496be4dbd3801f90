package gauger

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"flotilla/bus"
	"flotilla/bus/streams"
	"flotilla/subjects"
)

// MostSeries is how many members have series of their own: those with the largest part of their share.
const MostSeries = 100

var (
	bytesMetric    = prometheus.NewDesc("flotilla_stream_bytes", "Bytes that a stream holds.", []string{"stream"}, nil)
	messagesMetric = prometheus.NewDesc("flotilla_stream_messages", "Messages that a stream holds.", []string{"stream"}, nil)
	limitMetric    = prometheus.NewDesc("flotilla_stream_limit_bytes", "Bytes that a stream may hold; not of one without limit.", []string{"stream"}, nil)
	replicasMetric = prometheus.NewDesc("flotilla_stream_replicas",
		"Replicas of a stream that are current, behind or on a server that is offline; not of one that a server keeps alone.", []string{"stream", "state"}, nil)
	shareMetric = prometheus.NewDesc("flotilla_member_share_used",
		"Part of its share of a stream that a member has stored, of members that use half of it or more.", []string{"member", "stream"}, nil)
)

// Metrics are what was seen last, for Prometheus; they outlive a term of leadership. They may be used from any
// goroutine.
type Metrics struct {
	mu     sync.Mutex
	uses   []streams.Use
	shares []share
}

// share is what part of its share of a stream a member uses.
type share struct {
	member, stream string
	used           float64
}

// NewMetrics returns metrics of nothing.
func NewMetrics() *Metrics { return &Metrics{} }

// Describe sends the descriptions of all metrics.
func (x *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{bytesMetric, messagesMetric, limitMetric, replicasMetric, shareMetric} {
		out <- desc
	}
}

// Collect sends the present values.
func (x *Metrics) Collect(out chan<- prometheus.Metric) {
	x.mu.Lock()
	uses, shares := x.uses, x.shares
	x.mu.Unlock()
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	for _, use := range uses {
		gauge(bytesMetric, float64(use.Bytes), use.Short)
		gauge(messagesMetric, float64(use.Messages), use.Short)
		if use.MostBytes > 0 {
			gauge(limitMetric, float64(use.MostBytes), use.Short)
		}
		for state, n := range replicaStates(use.Replicas) {
			gauge(replicasMetric, n, use.Short, state)
		}
	}
	for _, s := range shares {
		gauge(shareMetric, s.used, s.member, s.stream)
	}
}

// replicaStates are how many replicas are in each state, of which there are none where there are no replicas.
func replicaStates(replicas []streams.Replica) map[string]float64 {
	if len(replicas) == 0 {
		return nil
	}
	states := map[string]float64{"current": 0, "behind": 0, "offline": 0}
	for _, r := range replicas {
		switch {
		case r.Current:
			states["current"]++
		case r.Offline:
			states["offline"]++
		default:
			states["behind"]++
		}
	}
	return states
}

func (x *Metrics) set(uses []streams.Use, held map[string]map[string]int64, of bus.Share) {
	shares := sharesOf(held, of)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.uses, x.shares = uses, shares
}

// reset forgets what was seen: another hub may lead by now.
func (x *Metrics) reset() { x.set(nil, nil, bus.Share{}) }

// sharesOf are those of half a share and more, largest first.
func sharesOf(held map[string]map[string]int64, of bus.Share) []share {
	of = of.WithDefaults()
	var shares []share
	for stream, whole := range map[string]int64{subjects.Result: of.Results, subjects.Events: of.Events} {
		for member, bytes := range held[stream] {
			if 2*bytes >= whole {
				shares = append(shares, share{member, stream, float64(bytes) / float64(whole)})
			}
		}
	}
	slices.SortFunc(shares, func(a, b share) int {
		return cmp.Or(cmp.Compare(b.used, a.used), strings.Compare(a.member, b.member), strings.Compare(a.stream, b.stream))
	})
	return shares[:min(len(shares), MostSeries)]
}
