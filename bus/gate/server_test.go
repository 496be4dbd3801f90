package gate_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus/gate"
)

// A request whose body does not come is answered and its connection closed, whether its handler waits for the body or does without; who sends
// theirs goes on.
func TestABodyThatDoesNotComeHoldsNoConnection(t *testing.T) {
	t.Parallel()
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/read" {
			text, err := io.ReadAll(r.Body)
			_, _ = fmt.Fprint(w, string(text), err)
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
	})
	for name, c := range map[string]struct {
		method, path string
		within       time.Duration
		sends        bool
		answer       string
	}{
		"left by its handler":          {"POST", "/", time.Hour, false, "401"},
		"of a GET":                     {"GET", "/", time.Hour, false, "401"},
		"that its handler reads":       {"POST", "/read", 200 * time.Millisecond, false, "i/o timeout"},
		"that comes":                   {"POST", "/read", time.Hour, true, "hello<nil>"},
		"that comes and is left there": {"POST", "/", time.Hour, true, "401"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(gate.Bodies(handler, c.within))
			t.Cleanup(server.Close)
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			require.NoError(t, err)
			t.Cleanup(func() { _ = conn.Close() })
			answers := bufio.NewReader(conn)
			for range 2 {
				_, err = fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n", c.method, c.path)
				require.NoError(t, err)
				if c.sends {
					_, err = io.WriteString(conn, "hello")
					require.NoError(t, err)
				}
				answer, err := http.ReadResponse(answers, nil)
				require.NoError(t, err)
				text, err := io.ReadAll(answer.Body)
				require.NoError(t, err)
				require.True(t, strings.HasSuffix(answer.Status+string(text), c.answer) || strings.HasPrefix(answer.Status, c.answer), "%s %s", answer.Status, text)
				if !c.sends {
					_, err = answers.ReadByte()
					require.ErrorIs(t, err, io.EOF)
					return
				}
			}
		})
	}
}
