package bounds

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/websocket"
)

// Over a websocket little is read of whoever watches: a long message ends it, and is not kept.
func TestAWebsocketIsHeardLittle(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w, r = Flushing(w, r)
		websocket.Handler(func(conn *websocket.Conn) {
			for {
				var text []byte
				if err := websocket.Message.Receive(conn, &text); err != nil {
					ended <- err
					return
				}
				_ = websocket.Message.Send(conn, text)
			}
		}).ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	conn, err := websocket.Dial(strings.Replace(server.URL, "http", "ws", 1), "", server.URL)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	for range 10 {
		var back []byte
		require.NoError(t, websocket.Message.Send(conn, []byte("ping")))
		require.NoError(t, websocket.Message.Receive(conn, &back))
		require.Equal(t, "ping", string(back))
	}
	_ = websocket.Message.Send(conn, bytes.Repeat([]byte("x"), 5<<20)) // it may be ended meanwhile
	require.ErrorIs(t, <-ended, errLoud)
}
