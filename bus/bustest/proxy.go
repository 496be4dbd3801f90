package bustest

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"flotilla/bus"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
)

// Proxy stands between clients and servers and can be told to misbehave.
type Proxy struct {
	targets  []string
	listener net.Listener

	mu       sync.Mutex
	changed  *sync.Cond
	conns    map[net.Conn]struct{}
	requests bool // held
	replies  bool // held
	doubled  bool
	pretends string // the version of servers
	stop     *stop
	closed   bool
	running  sync.WaitGroup
}

// NewProxy starts a proxy for the server.
func NewProxy(t testing.TB, s *Server) *Proxy {
	t.Helper()
	return ProxyTo(t, strings.TrimPrefix(s.URL(), "nats://"))
}

// ProxyTo starts a proxy for the servers at some addresses, HOST:PORT: the first one that answers gets a client.
func ProxyTo(t testing.TB, targets ...string) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &Proxy{targets: targets, listener: listener, conns: map[net.Conn]struct{}{}}
	p.changed = sync.NewCond(&p.mu)
	p.running.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// stop is the message before which requests are held: the one after so many to subjects that begin so.
type stop struct {
	prefix string
	left   int
	held   chan struct{}
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

// HoldAfter lets so many messages pass that clients publish to subjects that begin so, and holds requests before the
// next, until Release or Cut. The channel is closed when it comes to that.
func (p *Proxy) HoldAfter(prefix string, passing int) <-chan struct{} {
	held := make(chan struct{})
	p.set(func() { p.stop = &stop{prefix: prefix, left: passing, held: held} })
	return held
}

// HoldReplies keeps back what the server sends, until Release or Cut.
func (p *Proxy) HoldReplies() { p.set(func() { p.replies = true }) }

// Double sends whatever clients publish twice, until Release.
func (p *Proxy) Double() { p.set(func() { p.doubled = true }) }

// Pretend has servers say to who connects that they are of a version as long as theirs, or of theirs again with an empty one.
func (p *Proxy) Pretend(version string) { p.set(func() { p.pretends = version }) }

// Release lets everything pass again, once.
func (p *Proxy) Release() {
	p.set(func() { p.requests, p.replies, p.doubled, p.stop = false, false, false, nil })
}

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
		target := p.dial()
		if target == nil {
			_ = client.Close()
			continue
		}
		if !p.keep(client, target) {
			return
		}
		p.running.Go(func() { p.passRequests(target, client) })
		p.running.Go(func() { p.pass(client, target, &p.replies) })
	}
}

// dial connects to the first server that answers, nil where none does.
func (p *Proxy) dial() net.Conn {
	for _, address := range p.targets {
		if target, err := net.Dial("tcp", address); err == nil {
			return target
		}
	}
	return nil
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
			_, err = to.Write(p.pretended(buffer[:n]))
		}
		if err != nil {
			return
		}
	}
}

// pretended puts the version that servers are to be of in the place of theirs.
func (p *Proxy) pretended(reply []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pretends == "" {
		return reply
	}
	return bytes.ReplaceAll(reply, []byte(`"version":"`+server.VERSION+`"`), []byte(`"version":"`+p.pretends+`"`))
}

// passRequests is pass for what a client sends, one message after the other.
func (p *Proxy) passRequests(to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }()
	reader := bufio.NewReaderSize(from, 64<<10)
	for {
		message, published, err := readMessage(reader)
		if err != nil {
			return
		}
		if published {
			p.count(message)
		}
		if !p.wait(to, &p.requests) {
			return
		}
		if published && p.doubles() {
			message = append(message, message...)
		}
		if _, err := to.Write(message); err != nil {
			return
		}
	}
}

// readMessage reads a line of the protocol of NATS, with the payload that follows it where something is published.
func readMessage(from *bufio.Reader) (message []byte, published bool, err error) {
	if message, err = from.ReadBytes('\n'); err != nil {
		return nil, false, err
	}
	words := strings.Fields(string(message))
	if len(words) < 3 || words[0] != "PUB" && words[0] != "HPUB" {
		return message, false, nil
	}
	size, err := strconv.Atoi(words[len(words)-1])
	if err != nil {
		return nil, false, err
	}
	payload := make([]byte, size+len("\r\n"))
	_, err = io.ReadFull(from, payload)
	return append(message, payload...), true, err
}

// count holds requests when a published message is the one before which they are to be held.
func (p *Proxy) count(message []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop == nil || !bytes.HasPrefix(message[bytes.IndexByte(message, ' ')+1:], []byte(p.stop.prefix)) {
		return
	}
	if p.stop.left--; p.stop.left < 0 {
		close(p.stop.held)
		p.stop, p.requests = nil, true
	}
}

func (p *Proxy) doubles() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.doubled
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
