package gate_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"flotilla/bus/bustest"
	"flotilla/bus/gate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func listen(t *testing.T, most int) *gate.Gate {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	g := gate.New(listener, most)
	t.Cleanup(func() { _ = g.Close() })
	return g
}

func dial(t *testing.T, g *gate.Gate) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", g.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// So many connections are open at once and no more. One that is closed, how often ever, gives one place.
func TestAGateLetsSoManyIn(t *testing.T) {
	g := listen(t, 2)
	let := make(chan net.Conn, 8)
	ended := make(chan error, 1)
	go func() {
		for {
			conn, err := g.Accept()
			if err != nil {
				ended <- err
				return
			}
			let <- conn
		}
	}()
	dial(t, g)
	first := bustest.Within(t, let, "the first is let in")
	require.False(t, g.Full())
	for range 3 {
		dial(t, g)
	}
	second := bustest.Within(t, let, "the second is let in")
	require.True(t, g.Full())
	require.Equal(t, 2, g.Most())

	require.NoError(t, first.Close())
	_ = first.Close()
	third := bustest.Within(t, let, "the third is let in")
	require.Empty(t, let, "the fourth waits")
	require.NoError(t, g.Close())
	require.ErrorIs(t, bustest.Within(t, ended, "nobody is let in any more"), net.ErrClosed)
	require.NoError(t, second.Close())
	require.NoError(t, third.Close())
}

// Whoever keeps connections and asks nothing on them is cut when others want a place.
func TestConnectionsThatAskNothingMakePlace(t *testing.T) {
	g := listen(t, 1)
	server := gate.Server(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	for _, limit := range []time.Duration{server.ReadHeaderTimeout, server.ReadTimeout, server.WriteTimeout, server.IdleTimeout} {
		require.Positive(t, limit)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(g) }()
	t.Cleanup(func() { _ = server.Close(); <-ended })
	ask := func(client *http.Client) error {
		answer, err := client.Get("http://" + g.Addr().String())
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, answer.Body)
		return errors.Join(err, answer.Body.Close())
	}
	keeps, comes := &http.Client{Transport: &http.Transport{}}, &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}
	t.Cleanup(keeps.CloseIdleConnections)
	t.Cleanup(comes.CloseIdleConnections)
	require.NoError(t, ask(keeps))
	require.True(t, g.Full())
	answered := make(chan error, 1)
	go func() { answered <- ask(comes) }()
	bustest.Eventually(t, func() error {
		gate.Shed(server)
		select {
		case err := <-answered:
			require.NoError(t, err)
			return nil
		default:
			return errors.New("the other one is not answered")
		}
	})
}
