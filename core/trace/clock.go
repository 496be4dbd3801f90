package trace

import (
	"time"

	"flotilla/core/api"
)

// What tells how an agent's clock goes.
const (
	byHeartbeat = "heartbeat"
	byCommand   = "command"
	byResult    = "result"
)

// Bounds of what an agent may state: spans of ten years, and times after which such a span ends in a year of four digits.
const (
	mostSpan   = 10 * 366 * 24 * 60 * 60 * 1000
	mostMillis = 253402300799000 - mostSpan
)

// stated are the times of a result by the agent's clock, zero where it did not come so far.
type stated struct {
	received, applied, available time.Time
	late                         bool
	command                      uint64
}

// statedIn reads what an agent states; false when that is nothing, or no times.
func statedIn(r *api.PlacementResult) (s stated, ok bool) {
	t := r.Times
	if t == nil || t.Received <= 0 || t.Received > mostMillis {
		return s, false
	}
	s.received, s.late, s.command = time.UnixMilli(t.Received), t.Late, t.Command
	for _, span := range []struct {
		ms *int64
		to *time.Time
	}{{t.Applied, &s.applied}, {t.Available, &s.available}} {
		switch {
		case span.ms == nil:
		case *span.ms < -mostSpan || *span.ms > mostSpan:
			return stated{}, false
		default:
			*span.to = s.received.Add(time.Duration(*span.ms) * time.Millisecond)
		}
	}
	return s, true
}

// last is the latest of them.
func (s *stated) last() time.Time {
	last := s.received
	for _, t := range []time.Time{s.applied, s.available} {
		if t.After(last) {
			last = t
		}
	}
	return last
}

// backwards says that the clock was set back between them.
func (s *stated) backwards() bool {
	return !s.applied.IsZero() && s.applied.Before(s.received) || !s.available.IsZero() && s.available.Before(s.applied)
}

// clockOf is how far an agent's clock is ahead. What was received was stored by the time after, and the result that says
// so was stored by the time reported; zero where that is not known.
func clockOf(k *Known, s *stated, after, reported time.Time) *api.AgentClock {
	told := !k.Sent.IsZero() && !k.Beat.IsZero()
	if s == nil {
		if !told {
			return nil
		}
		return &api.AgentClock{AheadMs: k.Sent.Sub(k.Beat).Milliseconds(), By: byHeartbeat}
	}
	c := &api.AgentClock{By: byHeartbeat, Turned: s.backwards()}
	if told {
		c.AheadMs = k.Sent.Sub(k.Beat).Milliseconds()
	}
	least, most := s.last().Sub(reported).Milliseconds(), s.received.Sub(after).Milliseconds()
	if !reported.IsZero() && (c.AheadMs < least || !told) {
		c.AheadMs, c.By = max(c.AheadMs, least), byResult
	}
	if !after.IsZero() && c.AheadMs > most {
		c.AheadMs, c.By = most, byCommand
		c.Turned = c.Turned || !reported.IsZero() && least > most
	}
	return c
}

// moved is a stated time by the broker's clock.
func (c *clock) moved(t time.Time) time.Time {
	return t.Add(-time.Duration(c.AheadMs) * time.Millisecond)
}

// clock is an agent's, as its times are moved.
type clock struct{ *api.AgentClock }

// mark is a hop that an agent states.
func (c *clock) mark(hop string, t time.Time, note string) mark {
	m := done(hop, c.moved(t), note)
	m.stated, m.said = true, t
	return m
}
