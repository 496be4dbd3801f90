// Package gate bounds how many connections a program takes at once where it listens, so that they never use up the descriptors
// that its files need. Hub and agent put a gate in front of whatever they serve by HTTP.
package gate

import (
	"net"
	"sync"
	"sync/atomic"
)

// Gate is a listener that lets so many connections be open at once. Who comes then waits in the queue of the system, which takes no
// descriptor, until one of them is closed. Its methods may be called from any goroutine.
type Gate struct {
	net.Listener
	open   atomic.Int64
	places chan struct{}
	closed chan struct{}
	once   sync.Once
}

// New puts a gate in front of a listener.
func New(listener net.Listener, most int) *Gate {
	return &Gate{Listener: listener, places: make(chan struct{}, max(most, 1)), closed: make(chan struct{})}
}

// Accept waits for a place, and for who takes it.
func (g *Gate) Accept() (net.Conn, error) {
	select {
	case g.places <- struct{}{}:
	case <-g.closed:
		return nil, net.ErrClosed
	}
	conn, err := g.Listener.Accept()
	if err != nil {
		<-g.places
		return nil, err
	}
	g.open.Add(1)
	return &guest{Conn: conn, leave: sync.OnceFunc(g.leave)}, nil
}

func (g *Gate) leave() {
	g.open.Add(-1)
	<-g.places
}

// Close lets nobody in any more; connections that are open stay.
func (g *Gate) Close() error {
	g.once.Do(func() { close(g.closed) })
	return g.Listener.Close()
}

// Most is how many connections may be open at once.
func (g *Gate) Most() int { return cap(g.places) }

// Full says that as many are open.
func (g *Gate) Full() bool { return g.open.Load() == int64(g.Most()) }

// guest is a connection that was let in.
type guest struct {
	net.Conn
	leave func()
}

// Close ends the connection and gives its place to another one.
func (c *guest) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
