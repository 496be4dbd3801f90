package main

import (
	"fmt"

	"flotilla/subjects"
)

// Keys of Runs.
const schedulerRuns = "scheduler placement"

// Measured is what one step of a scenario took.
type Measured struct {
	Scenario string `json:"scenario"`
	Folders  string `json:"folders"`
	Step     string `json:"step"`
	Members  int    `json:"members"`
	// Deliveries is how often a member came to hold the newest content of a placement, and was seen to.
	Deliveries int `json:"deliveries"`
	// Wall is in seconds, from the first apply to the last placement that was seen available; of a restart until the
	// fleet had caught up. Span is in seconds too, of all that is counted.
	Wall float64 `json:"wallSeconds"`
	Span float64 `json:"spanSeconds"`
	// Latency is that of placements, from the moment apply is sent until a client sees them available.
	Latency Quantiles `json:"latency"`
	// Looks is how often the client looked.
	Looks  int     `json:"looks"`
	Hub    Figures `json:"hub"`
	Agents Figures `json:"agents"`
	// Traffic and Runs are of the whole step. After a restart they are counted from when the hub was back.
	Traffic Traffic            `json:"traffic"`
	Runs    map[string]float64 `json:"runs"`
	// Ready and First are of a restart, in seconds since the new process was started: until the hub answered, and until
	// a new placement was available.
	Ready float64 `json:"readySeconds,omitempty"`
	First float64 `json:"firstSeconds,omitempty"`
	Raw   *Raw    `json:"raw,omitempty"`
}

// perDelivery is a part of an amount, 0 where nothing was delivered.
func (m *Measured) perDelivery(amount float64) float64 {
	if m.Deliveries == 0 {
		return 0
	}
	return amount / float64(m.Deliveries)
}

// own is the processor time of agents without that of members in memory.
func (m *Measured) own() float64 { return m.Agents.CPU - m.Agents.Target }

// sent is what was given to streams, without heartbeats and the lease.
func (m *Measured) sent() Count { return sum(m.Traffic.Sent, beats...) }

// read is what agents asked streams for.
func (m *Measured) read() Count { return sum(m.Traffic.Read) }

// timesRaw is by how much the step took more than NATS alone: processor time a delivery, and the median latency of
// placements. Both are 0 where it was not measured.
func (m *Measured) timesRaw() (cpu, latency float64) {
	if m.Raw == nil || m.Raw.Deliveries == 0 {
		return 0, 0
	}
	alone := (m.Raw.Hub.CPU + m.Raw.Agents.CPU) / float64(m.Raw.Deliveries)
	return m.perDelivery(m.Hub.CPU+m.own()) / alone, m.Latency.P50 / m.Raw.Latency.P50
}

// String is one line for whoever watches.
func (m *Measured) String() string {
	if m.Deliveries == 0 {
		return fmt.Sprintf("%s: hub %.1f %% and agents %.1f %% of a core in %.0f s; hub %.0f MiB, agents %.1f MiB each",
			m.Step, 100*m.Hub.CPU/m.Span, 100*m.own()/m.Span, m.Span, m.Hub.RSS/mebi, m.Agents.RSS/mebi/float64(m.Members))
	}
	text := fmt.Sprintf("%s: %d deliveries in %.2f s; p50 %.3f s, p90 %.3f s, max %.3f s; a delivery: hub %.2f ms, agents %.2f ms, members %.2f ms; %.2f messages, %.0f bytes stored, %.0f read; %.2f commands and %.2f results stored; scheduler %.3f runs",
		m.Step, m.Deliveries, m.Wall, m.Latency.P50, m.Latency.P90, m.Latency.Max,
		1000*m.perDelivery(m.Hub.CPU), 1000*m.perDelivery(m.own()), 1000*m.perDelivery(m.Agents.Target),
		m.perDelivery(m.sent().Messages), m.perDelivery(m.sent().Bytes), m.perDelivery(m.read().Bytes),
		m.perDelivery(m.Traffic.Stored[subjects.Commands]), m.perDelivery(m.Traffic.Stored[subjects.Result]), m.perDelivery(m.Runs[schedulerRuns]))
	if m.Ready > 0 {
		text += fmt.Sprintf("; ready after %.2f s, a new placement after %.2f s",
			m.Ready, m.First)
	}
	return text
}

const mebi = 1 << 20
