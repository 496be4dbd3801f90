package member

import (
	"time"
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
