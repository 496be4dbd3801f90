// Package gate bounds how many connections a program takes at once where it listens, so that they never use up the descriptors
// that its files need, and nobody uses up the places of others. Hub and agent put a gate in front of whatever they serve by HTTP.
package gate

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// mostTakes is how many are taken in a second while all places are taken; others wait in the queue of the system.
	mostTakes = 10_000
	// leastWait is the shortest time that is waited for.
	leastWait = 5 * time.Millisecond
)

// Gate is a listener that lets so many connections be open at once. Once it is full each connection that comes has another one closed:
// one of strangers while these hold more than a quarter of the places, else one of people; of both, the oldest of the network or the
// person that holds most. That goes on at a rate: beyond it who comes is closed. Its methods may be called from any goroutine.
type Gate struct {
	net.Listener
	most  int
	takes *rate.Limiter // of connections while it is full

	mu        sync.Mutex
	strangers crowd  // by network: those that have not said whose they are
	people    crowd  // by name
	joined    uint64 // how often one became a holder's
	closings  closings
}

// Holder is a network or a person with its open connections.
type Holder struct {
	// Name is that of a person, or a network: "10.1.2.3", "2001:db8::/64".
	Name   string
	Person bool
	Open   int
}

// New puts a gate in front of a listener.
func New(listener net.Listener, most int) *Gate {
	g := &Gate{
		Listener: listener, most: max(most, 1), takes: rate.NewLimiter(mostTakes, mostTakes/10), closings: newClosings(most),
	}
	g.strangers, g.people = newCrowd(&g.joined), newCrowd(&g.joined)
	return g
}

// Accept waits for a connection, which gets a place whatever others hold, at a rate that costs others little.
func (g *Gate) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &guest{Conn: conn, gate: g}
		out := g.let(c)
		if out == nil {
			return c, nil
		}
		_ = out.Conn.Close()
		if wait := g.takes.Reserve().Delay(); wait > leastWait {
			<-time.After(wait)
		}
		if out != c {
			return c, nil
		}
	}
}

// let has a connection take a place, and returns the one that has none for that where all were taken: that of whoever is next, or the new one
// where too many made place for others.
func (g *Gate) let(c *guest) (out *guest) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.strangers.join(c, Network(c.RemoteAddr().String()))
	if g.open() <= g.most {
		return nil
	}
	out = g.next().oldest()
	if !g.closings.allow(c.in.name, time.Now()) {
		out = c
	}
	out.in.leave(out)
	return out
}

// next is whoever loses a connection to the one that comes next while all places are taken.
func (g *Gate) next() *holder {
	if g.people.open == 0 || g.strangers.open > max(g.most/4, 1) {
		return g.strangers.most[0]
	}
	return g.people.most[0]
}

func (g *Gate) open() int { return g.strangers.open + g.people.open }

// Most is how many connections may be open at once.
func (g *Gate) Most() int { return g.most }

// Full says that as many are open, and who loses one to whoever comes next.
func (g *Gate) Full() (next Holder, full bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open() < g.most {
		return Holder{}, false
	}
	h := g.next()
	return Holder{Name: h.name, Person: h.crowd == &g.people, Open: h.all.Len()}, true
}

// guest is a connection that was let in.
type guest struct {
	net.Conn
	gate   *Gate
	number uint64        // of those that came
	in     *holder       // under the lock of the gate; nil once it has no place
	at     *list.Element // of its holder
}

// Close ends the connection and gives its place back.
func (c *guest) Close() error {
	c.gate.mu.Lock()
	if c.in != nil {
		c.in.leave(c)
	}
	c.gate.mu.Unlock()
	return c.Conn.Close()
}

// belongs has a connection count as that of a person.
func (c *guest) belongs(person string) {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	people := &c.gate.people
	if c.in == nil || c.in.crowd == people && c.in.name == person {
		return
	}
	c.in.leave(c)
	people.join(c, person)
}

type connKey struct{}

// Introduce has a server tell the connections that it serves from each other, so that Belongs says whose they are.
func Introduce(server *http.Server) {
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		if side, is := conn.(*tls.Conn); is {
			conn = side.NetConn()
		}
		if c, is := conn.(*guest); is {
			return context.WithValue(ctx, connKey{}, c)
		}
		return ctx
	}
}

// Belongs says whose the connection of a request is, which has come through a gate: that of the person who asked last.
func Belongs(request context.Context, person string) {
	if c, is := request.Value(connKey{}).(*guest); is {
		c.belongs(person)
	}
}
