package hubd

import (
	"context"
	"slices"
	"sync"
	"time"

	"flotilla/bus/gate"
	"flotilla/core/api"
)

// Most connections that a way takes, however many descriptors there are.
const (
	mostOfNATS    = 64 << 10
	mostOfSite    = 4 << 10
	mostOfMetrics = 128
)

// shares are how many connections each way into a hub takes at once.
type shares struct{ nats, page, front, metrics int }

// sharesOf shares so many descriptors out: a fifth stays for files, and a sixteenth of the rest for what the hub asks of others.
func sharesOf(descriptors int) shares {
	part := max((descriptors-descriptors/5)/16, 1)
	return shares{nats: min(10*part, mostOfNATS), page: min(2*part, mostOfSite), front: min(2*part, mostOfSite), metrics: min(part, mostOfMetrics)}
}

// ways are all ways into a hub. On one that is full whoever comes is refused, or another one makes place, and no file lacks a descriptor for that.
type ways struct {
	most shares

	mu   sync.Mutex
	open []way
	full map[string]fullness // by what it is about
}

// way is one that is served by HTTP.
type way struct {
	name string // "the page"
	gate *gate.Gate
}

// fullness is a limit that is reached, or was a moment ago.
type fullness struct {
	problem api.Problem
	last    time.Time
}

// let takes note of a way.
func (w *ways) let(name string, bounded *gate.Gate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = append(w.open, way{name, bounded})
}

// ofHTTP are the ways that are served by HTTP.
func (w *ways) ofHTTP() []way {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.open)
}

// boundConnections says how many connections the hub takes; the limits themselves are where it listens.
func (h *Hub) boundConnections(context.Context) (func(bool), error) {
	descriptors, err := gate.Descriptors()
	if err != nil {
		return nil, err
	}
	h.ways.most, h.ways.full = sharesOf(descriptors), map[string]fullness{}
	most := &h.ways.most
	line := h.options.Log.Info().Int("descriptors", descriptors)
	if h.options.Server != nil {
		line = line.Int("NATS", most.nats)
	}
	if h.options.Page.Address != "" {
		line = line.Int("page", most.page)
	}
	if h.options.Front.on() {
		line = line.Int("Kubernetes API", most.front)
	}
	if h.options.Metrics != "" {
		line = line.Int("metrics", most.metrics)
	}
	line.Msg("connections are bounded, so that a fifth of the descriptors is left for files")
	return func(bool) {}, nil
}
