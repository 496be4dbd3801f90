package member

import (
	"time"

	"flotilla/bus"
)

// SetPatience is how long a hint is followed whose command does not show up.
func (p *Follower) SetPatience(d time.Duration) { p.patience = d }

// Hinted is the newest sequence that was announced and has not been given up.
func (p *Follower) Hinted() uint64 { return p.hinted.Load() }

// Subscriptions counts what the connection listens to.
func (a *Conn) Subscriptions() int { return a.conn.NC.NumSubscriptions() }

// Deafen has the connection hear no hint any more.
func (a *Conn) Deafen() error {
	a.hints.mu.Lock()
	defer a.hints.mu.Unlock()
	return a.hints.subscription.Unsubscribe()
}

// WaitsOnceConnected are the first waits of a pursuit for a hint after its connection came up.
func WaitsOnceConnected(p *Follower, n int) (waits []time.Duration) {
	p.connected()
	for range n {
		waits = append(waits, p.every())
	}
	return waits
}

// DoubtedOnceConnected are the slots that are compared with what the server has after the connection came up.
func DoubtedOnceConnected(a *Conn) []int {
	a.results.reconnected()
	return a.Doubted()
}

// SetSpread is over how long the newest slot is compared after the connection came up, and over how long all of them.
func (a *Conn) SetSpread(newest, all time.Duration) { a.results.spread, a.results.rest = newest, all }

// Doubted are the slots of which it is not known what the server has.
func (a *Conn) Doubted() (slots []int) {
	a.results.mu.Lock()
	defer a.results.mu.Unlock()
	for _, s := range a.results.slots {
		if !s.known {
			slots = append(slots, s.number)
		}
	}
	return slots
}

// LooksEvery is how often commands are read because the connection does not listen for hints, though it may; 0 where it does.
func (a *Conn) LooksEvery() time.Duration { return a.looksEvery() }

// Disturbed tells the connection that it is lost.
func (a *Conn) Disturbed() { a.disturbed(bus.Lost, nil) }

// WasUnheard says that it did so lately.
func (a *Conn) WasUnheard() bool {
	a.hints.mu.Lock()
	defer a.hints.mu.Unlock()
	return a.hints.unheard.lasted > 0
}
