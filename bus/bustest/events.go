package bustest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"flotilla/bus"
	"flotilla/bus/streams"
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
