package bounds

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
)

// unread serves a long answer that waits so long for who asked, and tells how writing it ended.
func unread(t *testing.T, within time.Duration, two bool) (*httptest.Server, chan error) {
	t.Helper()
	ended := make(chan error, 1)
	server := httptest.NewUnstartedServer(Taken(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, err := w.Write(make([]byte, 64<<20))
		ended <- err
	}), within))
	server.EnableHTTP2 = two
	server.StartTLS()
	t.Cleanup(server.Close)
	return server, ended
}

// An answer that nobody takes ends, in each version of HTTP; one that is taken does not.
func TestAnAnswerThatNobodyTakesEnds(t *testing.T) {
	t.Parallel()
	for _, two := range []bool{false, true} {
		t.Run(fmt.Sprintf("HTTP2 %t", two), func(t *testing.T) {
			t.Parallel()
			server, ended := unread(t, time.Second, two)
			answer, err := server.Client().Get(server.URL)
			require.NoError(t, err)
			require.Equal(t, two, answer.ProtoMajor == 2)
			require.Error(t, bustest.Within(t, ended, "the end of an answer that is not taken"))
			_, err = io.Copy(io.Discard, answer.Body)
			require.Error(t, err)
			require.NoError(t, answer.Body.Close())

			server, ended = unread(t, time.Minute, two)
			for range 2 { // over one connection
				answer, err = server.Client().Get(server.URL)
				require.NoError(t, err)
				length, err := io.Copy(io.Discard, answer.Body)
				require.NoError(t, err)
				require.EqualValues(t, 64<<20, length)
				require.NoError(t, answer.Body.Close())
				require.NoError(t, bustest.Within(t, ended, "the end of an answer that is taken"))
			}
		})
	}
}

// deadlines counts how often the time of an answer was set anew.
type deadlines struct {
	*httptest.ResponseRecorder
	set int
}

// SetWriteDeadline counts one that is set.
func (d *deadlines) SetWriteDeadline(until time.Time) error {
	if !until.IsZero() {
		d.set++
	}
	return nil
}

// The time for an answer goes on as it is taken, also where all of it is written at once.
func TestEachPieceOfAnAnswerHasItsTime(t *testing.T) {
	t.Parallel()
	d := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	var n int
	var err error
	Taken(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n, err = io.WriteString(w, strings.Repeat("x", 4*piece+1))
	}), time.Minute).ServeHTTP(d, httptest.NewRequest(http.MethodGet, "/", nil))
	require.NoError(t, err)
	require.Equal(t, 4*piece+1, n)
	require.Equal(t, 5+1, d.set, "5 pieces, and what waits in the connection")
	require.Len(t, d.Body.String(), 4*piece+1)
}

// An answer that is taken slowly ends with its request.
func TestAnAnswerEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	w := &ending{httptest.NewRecorder(), cancel}
	var n int
	var err error
	Taken(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n, err = io.WriteString(w, strings.Repeat("x", 4*piece))
	}), time.Minute).ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, piece, n)
}

// ending ends a request once something of its answer was written.
type ending struct {
	*httptest.ResponseRecorder
	end context.CancelFunc
}

// Write ends the request.
func (e *ending) Write(text []byte) (int, error) {
	e.end()
	return e.ResponseRecorder.Write(text)
}
