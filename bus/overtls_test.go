package bus_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/bus/server"
)

// plainServer stands in the place of a server and speaks NATS without TLS, as who wants to read along would.
type plainServer struct {
	listener net.Listener

	mu       sync.Mutex
	sent     strings.Builder
	sessions int
}

func listenPlain(t *testing.T) *plainServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &plainServer{listener: l}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		running.Wait()
	})
	return p
}

func (p *plainServer) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, `INFO {"server_id":"N","version":"2.15.2","max_payload":1048576,"headers":true,"nonce":"abcdefghijk"}`+"\r\n")
	_ = conn.SetReadDeadline(time.Now().Add(2 * time.Second))
	text, _ := io.ReadAll(conn)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent.Write(text)
	p.sessions++
}

func (p *plainServer) url(scheme string) string { return scheme + "://" + p.listener.Addr().String() }

func (p *plainServer) heard() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent.String()
}

// met is an error until as many clients have come and gone.
func (p *plainServer) met(sessions int) func() error {
	return func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.sessions < sessions {
			return fmt.Errorf("%d clients have come and gone, expected %d", p.sessions, sessions)
		}
		return nil
	}
}

// Who is given tls:// tells a server without TLS nothing: neither who they are nor a signature.
func TestAClientOfTLSTellsAPlainServerNothing(t *testing.T) {
	s := bustest.Start(t)
	creds := bustest.AgentCreds(t, s.Server, "berlin")
	token := bustest.Token(t, "berlin")
	var err error
	token.Seed, _, token.Credentials, err = s.Issuer().Token("berlin", time.Hour)
	require.NoError(t, err)
	for name, connect := range map[string]func(t *testing.T, url string){
		"a person": func(t *testing.T, url string) {
			_, err := bus.ConnectClient(t.Context(), bus.Options{URL: url, Creds: s.OperatorCreds(), Log: zerolog.Nop()})
			require.ErrorIs(t, err, bus.ErrSetup)
			require.ErrorContains(t, err, "found a server that speaks no TLS")
		},
		"a hub": func(t *testing.T, url string) {
			ctx, cancel := context.WithCancel(t.Context())
			t.Cleanup(cancel)
			go func() { _, _ = bus.ConnectHub(ctx, bus.Options{URL: url, Creds: s.HubCreds(), Log: zerolog.Nop()}) }()
		},
		"an agent": func(t *testing.T, url string) {
			c, err := member.Connect(t.Context(), bus.Options{URL: url, CredsText: creds, Log: zerolog.Nop(), Reconnect: bus.Reconnect{Wait: time.Millisecond, Jitter: time.Millisecond}}, "berlin")
			require.NoError(t, err)
			t.Cleanup(c.Close)
		},
		"an agent with a token": func(t *testing.T, url string) {
			token := *token
			token.URL, token.Fleet = url, "default"
			wallet, err := member.OpenWallet(member.Folder(t.TempDir()), &token)
			require.NoError(t, err)
			c, err := member.Connect(t.Context(), bus.Options{Wallet: wallet, Log: zerolog.Nop(), Getenv: func(string) string { return "" }, Reconnect: bus.Reconnect{Wait: time.Millisecond, Jitter: time.Millisecond}}, "berlin")
			require.NoError(t, err)
			t.Cleanup(c.Close)
		},
	} {
		t.Run(name, func(t *testing.T) {
			sessions := 2
			if name == "a person" {
				sessions = 1 // tries once
			}
			p := listenPlain(t)
			connect(t, p.url("tls"))
			bustest.Eventually(t, p.met(sessions))
			require.Empty(t, p.heard())
		})
	}
	p := listenPlain(t)
	_, err = bus.ConnectClient(t.Context(), bus.Options{URL: p.url("nats"), Creds: s.OperatorCreds(), Timeout: time.Second, Log: zerolog.Nop()})
	require.Error(t, err)
	bustest.Eventually(t, p.met(1))
	require.Contains(t, p.heard(), "CONNECT", "who is given nats:// does tell")
}

// What others are told is over TLS where the servers speak it, whatever the connection was told itself.
func TestServersThatSpeakTLSAreToldSo(t *testing.T) {
	secured := bustest.Start(t, func(o *server.Options) { o.TLS.SelfSigned = true })
	o := secured.TCP()
	o.URL, o.CA = strings.Replace(secured.URL(), "tls://", "nats://", 1), secured.CAFile()
	c, err := bus.ConnectHub(bustest.Context(t), o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	require.Equal(t, secured.URL(), c.URL())
	require.Equal(t, "tls://n1,tls://n2", c.Told("nats://n1,n2"))
	plain := bustest.Start(t).Hub(t)
	require.True(t, strings.HasPrefix(plain.URL(), "nats://"), plain.URL())
	require.Equal(t, "nats://n1", plain.Told("nats://n1"))
}
