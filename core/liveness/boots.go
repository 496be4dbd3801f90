package liveness

import (
	"slices"
	"time"

	"flotilla/core/api"
)

const (
	// mostBoots is how many starts of an agent are remembered, and longestBoot how much of the id of each.
	mostBoots   = 4
	longestBoot = 64
	// doubledFor is for how many intervals between heartbeats, of the slower of the two, two agents count as such after the last sign of
	// it, and longestInterval the most that an interval counts, in seconds.
	doubledFor      = 3
	longestInterval = 3600
)

// Boots are the starts of the agent of a member, as its heartbeats tell of them. An agent that was started anew never sends as the one
// before again: where that happens two agents prove themselves as one member. The zero value knows of none.
type Boots struct {
	seen     []string      // the newest first
	heard    time.Time     // when the newest heartbeat was stored
	interval time.Duration // of the newest
	doubled  time.Time
	holds    time.Duration
}

// Hear takes a heartbeat in that was stored at a time. One that is older than the last is what a broker held that lost that.
func (b *Boots) Hear(h *api.Heartbeat, at time.Time) {
	if at.Before(b.heard) {
		return
	}
	interval := time.Duration(min(max(1, h.IntervalSeconds), longestInterval)) * time.Second
	slower := max(interval, b.interval)
	b.heard, b.interval = at, interval
	boot := h.Boot[:min(len(h.Boot), longestBoot)]
	if len(b.seen) > 0 && b.seen[0] == boot {
		return
	}
	before := slices.Index(b.seen, boot)
	if before > 0 {
		b.seen = slices.Delete(b.seen, before, before+1)
		b.doubled, b.holds = at, doubledFor*slower
	}
	b.seen = slices.Insert(b.seen, 0, boot)
	b.seen = b.seen[:min(len(b.seen), mostBoots)]
}

// DoubledUntil is until when two agents count as such, unless there is another sign of it; zero when there never was one. It is at most
// Timeout after the last.
func (b *Boots) DoubledUntil(timeout time.Duration) time.Time {
	if b.doubled.IsZero() {
		return time.Time{}
	}
	return b.doubled.Add(min(b.holds, timeout))
}
