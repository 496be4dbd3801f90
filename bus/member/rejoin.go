package member

import (
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
	"time"

	"flotilla/bus"

	"github.com/nats-io/nats.go"
)

// When an agent tries to connect again that was not told otherwise; defaults of NATS would bring a whole fleet back
// within 100 ms.
var (
	// soon is after a connection was lost, and while nothing listens where the server was: to find that out costs nobody
	// anything, and a server that is back does no more than let in who waited.
	soon = bus.Reconnect{Wait: 500 * time.Millisecond, Jitter: 1500 * time.Millisecond}
	// once is after a server did not let it in, or did not answer, or soon lost it, late where that happened again: it may
	// have more to do than it can.
	once = bus.Reconnect{Wait: time.Second, Jitter: 4 * time.Second}
	late = bus.Reconnect{Wait: 2 * time.Second, Jitter: 15 * time.Second}
)

const (
	// soonFor is how many attempts in a row are made soon; a server that is still away then is waited for.
	soonFor = 30
	// steady is how long a connection lasted whose end is no sign of a server that has more to do than it can.
	steady = 30 * time.Second
)

// rejoin says when an agent tries to connect again.
type rejoin struct {
	told   bus.Reconnect // zero: it was not told
	dialer net.Dialer

	mu      sync.Mutex
	refused bool      // nothing listened at the last attempt
	reached time.Time // when somebody answered last
	vain    int       // times in a row that a server was there to no avail
}

func newRejoin(told bus.Reconnect) *rejoin {
	return &rejoin{told: told, dialer: net.Dialer{Timeout: bus.DialTimeout}}
}

func (r *rejoin) options() []nats.Option {
	return []nats.Option{nats.RetryOnFailedConnect(true), nats.SetCustomDialer(r), nats.CustomReconnectDelay(r.delay)}
}

// Dial is how the connection reaches a server.
func (r *rejoin) Dial(network, address string) (net.Conn, error) {
	conn, err := r.dialer.Dial(network, address)
	r.dialed(err, time.Now())
	return conn, err
}

func (r *rejoin) dialed(err error, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refused = errors.Is(err, syscall.ECONNREFUSED); err == nil {
		r.reached = now
	}
}

// delay is how long to wait before the attempt of that number since the connection was lost.
func (r *rejoin) delay(attempt int) time.Duration {
	wait := r.wait(attempt, time.Now())
	return wait.Wait + time.Duration(rand.Float64()*float64(wait.Jitter))
}

func (r *rejoin) wait(attempt int, now time.Time) bus.Reconnect {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.told != bus.Reconnect{}:
		return r.told
	case attempt == 1 && now.Sub(r.reached) >= steady:
		r.vain = 0
		return soon
	case r.refused && attempt <= soonFor:
		return soon
	case r.refused:
		return late
	}
	if r.vain++; r.vain == 1 {
		return once
	}
	return late
}
