// Package listen is a browser's end of a stream of the hub's page, for tests that do without a browser.
package listen

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Event is one event of a stream.
type Event struct {
	// Kind is part, alive, failed or ended; ID is where a browser that was cut off goes on.
	Kind, ID string
	// At is the screen that a part is of, or that failed with Code.
	At   string
	Code int
	Part struct{ ID, HTML, Sum string }
	// Mark is the revision that all screens are of, Stale why they are old, as of Since.
	Mark, Stale string
	Since       time.Time
	// Why is why the stream ended.
	Why string
}

// Stream is a stream that is read by one goroutine.
type Stream struct {
	t     testing.TB
	from  io.ReadCloser
	lines *bufio.Scanner
}

// longest is how long one event may be.
const longest = 16 << 20

// Of reads a stream from where it comes.
func Of(t testing.TB, from io.ReadCloser) *Stream {
	s := &Stream{t: t, from: from, lines: bufio.NewScanner(from)}
	s.lines.Buffer(nil, longest)
	t.Cleanup(s.Close)
	return s
}

// Close ends the stream.
func (s *Stream) Close() { _ = s.from.Close() }

// To opens a stream as a browser does. It ends with the test, or with the context of the request.
func To(t testing.TB, request *http.Request) *Stream {
	t.Helper()
	answer, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Equal(t, "text/event-stream", answer.Header.Get("Content-Type"))
	return Of(t, answer.Body)
}

// Next is the next event; false where the stream ended.
func (s *Stream) Next() (e Event, more bool) {
	s.t.Helper()
	for s.lines.Scan() {
		name, text, _ := strings.Cut(s.lines.Text(), ": ")
		switch name {
		case "event":
			e.Kind = text
		case "id":
			e.ID = text
		case "data":
			require.NoError(s.t, json.Unmarshal([]byte(text), &e), text)
		case "":
			return e, true
		}
	}
	return e, false
}

// Until reads to the first event that is wanted, and returns it with all before it. The test fails where the stream ends first.
func (s *Stream) Until(what string, wanted func(Event) bool) (e Event, before []Event) {
	s.t.Helper()
	for {
		e, more := s.Next()
		require.True(s.t, more, "the stream ended before %s: %v", what, s.lines.Err())
		if wanted(e) {
			return e, before
		}
		before = append(before, e)
	}
}

// Shows wants a part of a screen that holds a text.
func Shows(at, text string) func(Event) bool {
	return func(e Event) bool { return e.Kind == "part" && e.At == at && strings.Contains(e.Part.HTML, text) }
}

// Is wants an event of a kind.
func Is(kind string) func(Event) bool { return func(e Event) bool { return e.Kind == kind } }
