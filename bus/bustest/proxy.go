package bustest

import (
	"net"
	"strings"
	"sync"
	"testing"

	"flotilla/bus"

	"github.com/stretchr/testify/require"
)

// Proxy stands between clients and a server and can be told to misbehave.
type Proxy struct {
	target   string
	listener net.Listener

	mu       sync.Mutex
	changed  *sync.Cond
	conns    map[net.Conn]struct{}
	requests bool // held
	replies  bool // held
	closed   bool
	running  sync.WaitGroup
}

// NewProxy starts a proxy for the server.
func NewProxy(t testing.TB, s *Server) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &Proxy{target: strings.TrimPrefix(s.URL(), "nats://"), listener: listener, conns: map[net.Conn]struct{}{}}
	p.changed = sync.NewCond(&p.mu)
	p.running.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// ProxiedHub connects as a hub through a proxy of its own.
func (s *Server) ProxiedHub(t testing.TB) (*Proxy, *bus.Conn) {
	t.Helper()
	p := NewProxy(t, s)
	o := s.TCP()
	o.URL = p.URL()
	c, err := bus.ConnectHub(Context(t), o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return p, c
}

// URL is where clients connect.
func (p *Proxy) URL() string { return "nats://" + p.listener.Addr().String() }

// HoldRequests keeps back what clients send, until Release or Cut.
func (p *Proxy) HoldRequests() { p.set(func() { p.requests = true }) }

// HoldReplies keeps back what the server sends, until Release or Cut.
func (p *Proxy) HoldReplies() { p.set(func() { p.replies = true }) }

// Release lets everything pass again.
func (p *Proxy) Release() { p.set(func() { p.requests, p.replies = false, false }) }

// Cut closes every connection, with all that is held back, and lets new ones pass.
func (p *Proxy) Cut() {
	p.set(func() {
		for c := range p.conns {
			_ = c.Close()
		}
		clear(p.conns)
		p.requests, p.replies = false, false
	})
}

func (p *Proxy) set(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	p.changed.Broadcast()
}

func (p *Proxy) close() {
	p.set(func() { p.closed = true })
	_ = p.listener.Close()
	p.Cut()
	p.running.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		if !p.keep(client, server) {
			return
		}
		p.running.Go(func() { p.pass(server, client, &p.requests) })
		p.running.Go(func() { p.pass(client, server, &p.replies) })
	}
}

// keep remembers a pair of connections, unless the proxy is closed.
func (p *Proxy) keep(pair ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range pair {
		if p.closed {
			_ = c.Close()
		} else {
			p.conns[c] = struct{}{}
		}
	}
	return !p.closed
}

// pass copies until either side ends; held is looked at before each write.
func (p *Proxy) pass(to, from net.Conn, held *bool) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && p.wait(to, held) {
			_, err = to.Write(buffer[:n])
		}
		if err != nil {
			return
		}
	}
}

// wait returns when held is false; false when the connection was cut meanwhile.
func (p *Proxy) wait(c net.Conn, held *bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if _, alive := p.conns[c]; !alive || p.closed {
			return false
		}
		if !*held {
			return true
		}
		p.changed.Wait()
	}
}
