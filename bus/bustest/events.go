package bustest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/streams"
	"flotilla/core/api"
)

// EventsUntil waits until the audit stream has an event of an object that reads "<reason>: <message>", and
// returns the events of the object up to the first such one, in the order of the stream.
func EventsUntil(t testing.TB, c *bus.Conn, object, last string) (lines []string) {
	t.Helper()
	Eventually(t, func() error {
		events, err := streams.ReadAudit(Context(t), c, streams.AuditQuery{Object: object})
		lines = nil
		for i := range events {
			lines = append(lines, events[i].Reason+": "+events[i].Message)
		}
		at := slices.Index(lines, last)
		if at < 0 {
			return fmt.Errorf("no event of %s is %q (%w):\n%s", object, last, err, strings.Join(lines, "\n"))
		}
		lines = lines[:at+1]
		return nil
	})
	return lines
}

// Flood stores an event n times, faster than a hub does.
func Flood(t testing.TB, c *bus.Conn, n int, e api.Audit) {
	t.Helper()
	e.Header, e.At.Time = api.NewHeader(api.KindAudit), c.Now()
	data, err := json.Marshal(e)
	require.NoError(t, err)
	kind, name, _ := strings.Cut(e.Object, "/")
	for range n {
		_, err := c.JS.PublishAsync(c.Fleet.AuditEvent(kind, name), data, jetstream.WithStallWait(time.Minute)) // so many wait for the server at most
		require.NoError(t, err)
	}
	select {
	case <-c.JS.PublishAsyncComplete():
	case <-Context(t).Done():
		require.Fail(t, "the server does not take the events")
	}
}
