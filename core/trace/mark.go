package trace

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// mark is what is known of a hop before it stands beside the others.
type mark struct {
	hop, state string
	at         time.Time
	// latest: it was at that time or before. second: within that second. stated: as an agent's clock has it, moved.
	latest, second, stated bool
	said                   time.Time // by the agent's clock
	note                   string
}

func done(hop string, at time.Time, note string) mark {
	return mark{hop: hop, state: api.HopDone, at: at, note: note}
}

func latest(hop string, at time.Time, note string) mark {
	m := done(hop, at, note)
	m.latest = true
	return m
}

func second(hop string, at time.Time, note string) mark {
	m := done(hop, at, note)
	m.second = true
	return m
}

func before(hop string, at time.Time, note string) mark {
	return mark{hop: hop, state: api.HopBefore, at: at, note: note}
}

func unknown(hop, note string) mark { return mark{hop: hop, state: api.HopUnknown, note: note} }

// waits is a hop that waits for what note says.
func waits(hop, note string) mark {
	for _, word := range []string{"waits for ", "waits: "} {
		note = strings.TrimPrefix(note, word)
	}
	return mark{hop: hop, state: api.HopWaits, note: note}
}

// lay puts hops behind one another. None is before the one ahead of it: what is only known to have been at a time at the
// latest was before what came after it, and what still goes back is moved, and says so.
func lay(marks []mark) []api.Hop {
	bound := time.Time{}
	for i := len(marks) - 1; i >= 0; i-- {
		m := &marks[i]
		if m.state != api.HopDone {
			continue
		}
		m.at = m.at.Truncate(time.Millisecond)
		if !bound.IsZero() && m.at.After(bound) && (m.latest || m.stated) {
			m.at = bound
		}
		if bound.IsZero() || m.at.Before(bound) {
			bound = m.at
		}
	}
	hops := make([]api.Hop, len(marks))
	last := time.Time{}
	for i := range marks {
		hops[i] = marks[i].after(last)
		if marks[i].state == api.HopDone {
			last = hops[i].At.Time
		}
	}
	pend(hops)
	return hops
}

// after is a hop behind one that was done at a time; zero for none.
func (m *mark) after(last time.Time) api.Hop {
	h := api.Hop{Hop: m.hop, State: m.state, Note: m.note, Latest: m.latest, Second: m.second}
	if m.state != api.HopDone {
		h.At = micro(m.at)
		return h
	}
	at := m.at
	if back := last.Sub(at); !last.IsZero() && back > 0 {
		at = last
		if !m.second || back >= time.Second {
			h.Note = joined(h.Note, fmt.Sprintf("told as %s earlier, which cannot be: clocks differ", back))
			h.Latest = true
		}
	}
	if !last.IsZero() {
		h.TookMs = at.Sub(last).Milliseconds()
	}
	h.At = micro(at)
	if m.stated && !m.said.Equal(at) {
		h.Stated = micro(m.said)
	}
	return h
}

// pend marks what comes after a hop that waits.
func pend(hops []api.Hop) {
	waiting := false
	for i := range hops {
		if waiting {
			hops[i] = api.Hop{Hop: hops[i].Hop, State: api.HopPending}
		}
		waiting = waiting || hops[i].State == api.HopWaits
	}
}

func micro(t time.Time) metav1.MicroTime {
	if t.IsZero() {
		return metav1.MicroTime{}
	}
	return metav1.NewMicroTime(t.UTC())
}

func joined(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}
