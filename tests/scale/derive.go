package main

import (
	"fmt"

	"flotilla/subjects"
)

// Keys of Runs.
const schedulerRuns = "scheduler placement"

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
	text := fmt.Sprintf("%s: %d deliveries in %.2f s; p50 %.3f s, p90 %.3f s, max %.3f s; a delivery: hub %.2f ms, agents %.2f ms, members %.2f ms; %.2f messages, %.0f bytes stored, %.0f read; scheduler %.3f runs",
		m.Step, m.Deliveries, m.Wall, m.Latency.P50, m.Latency.P90, m.Latency.Max,
		1000*m.perDelivery(m.Hub.CPU), 1000*m.perDelivery(m.own()), 1000*m.perDelivery(m.Agents.Target),
		m.perDelivery(m.sent().Messages), m.perDelivery(m.sent().Bytes), m.perDelivery(m.read().Bytes), m.perDelivery(m.Runs[schedulerRuns]))
	if m.Ready > 0 {
		text += fmt.Sprintf("; ready after %.2f s, a new placement after %.2f s; %.0f commands and %.0f results were stored",
			m.Ready, m.First, m.Traffic.Stored[subjects.Commands], m.Traffic.Stored[subjects.Result])
	}
	return text
}

const mebi = 1 << 20
