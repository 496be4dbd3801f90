package bus

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Disturbance is something that happened to a connection.
type Disturbance int

// What happens to connections.
const (
	Lost     Disturbance = iota // the connection is gone
	Restored                    // and back
	Slow                        // messages were dropped because this process is slow
	Denied                      // the server forbade something: the error says what
)

// audience are those who are told what happens to a connection.
type audience struct {
	leaves    atomic.Bool // Close was called
	mu        sync.Mutex
	announced bool // they were told that the connection is up
	listeners []*listener
}

// listener is told what happens to a connection.
type listener struct {
	tell func(Disturbance, error)
	// knows says that it joined when the connection was up already and that was still to be announced.
	knows bool
}

// OnReconnect calls f, on a goroutine of the connection, each time the connection came back, until
// the returned function is called.
func (c *Conn) OnReconnect(f func()) (cancel func()) {
	_, cancel = c.OnRestored(f)
	return cancel
}

// OnRestored is OnReconnect, and says whether the connection is up now, of which f is not told.
func (c *Conn) OnRestored(f func()) (up bool, cancel func()) {
	return c.join(func(d Disturbance, _ error) {
		if d == Restored {
			f()
		}
	})
}

// Listen has f told, on a goroutine of the connection, what happens to it, until the returned function is called.
func (c *Conn) Listen(f func(Disturbance, error)) (cancel func()) {
	_, cancel = c.join(f)
	return cancel
}

// join has f told what happens from now on, and says whether the connection is up now. The library
// announces a connection a while after it is up: who joined meanwhile is not told of it.
func (c *Conn) join(f func(Disturbance, error)) (up bool, leave func()) {
	a := &c.audience
	a.mu.Lock()
	defer a.mu.Unlock()
	up = c.NC.IsConnected()
	joined := &listener{tell: f, knows: up && !a.announced}
	a.listeners = append(a.listeners, joined)
	return up, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.listeners = slices.DeleteFunc(a.listeners, func(l *listener) bool { return l == joined })
	}
}

func (c *Conn) disturb(d Disturbance, err error) {
	for _, l := range c.audience.concerned(d) {
		l.tell(d, err)
	}
}

// concerned takes a disturbance in and returns whom to tell, in the order in which they joined.
func (a *audience) concerned(d Disturbance) (out []*listener) {
	a.mu.Lock()
	defer a.mu.Unlock()
	passes := d == Slow || d == Denied
	if !passes {
		a.announced = d == Restored
	}
	for _, l := range a.listeners {
		if d != Restored || !l.knows {
			out = append(out, l)
		}
		l.knows = l.knows && passes
	}
	return out
}
