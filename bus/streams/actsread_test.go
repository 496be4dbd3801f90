package streams_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/streams"
	"flotilla/subjects"
)

// Events of people that the audit stream holds no more come from stream ACTS, behind those that it holds, each once.
func TestEventsGoOnInWhatPeopleDid(t *testing.T) {
	server := bustest.Start(t)
	s := server.Lead(t)
	c := server.Hub(t)
	keepActs(t, c)
	var all []string
	for i := range 9 {
		all = append(all, fmt.Sprint(i))
	}
	did(s, all...)
	expectActs(t, c, all...)
	ctx := bustest.Context(t)
	audit, err := c.JS.Stream(ctx, c.Fleet.Stream(subjects.Audit))
	require.NoError(t, err)
	everything := streams.AuditQuery{By: "anna", Limit: 100}
	pages := func(q streams.AuditQuery) (text string) {
		for {
			page, err := streams.ReadEvents(ctx, c, q)
			require.NoError(t, err)
			var messages []string
			for _, e := range page.Events {
				messages = append(messages, e.Message)
			}
			text += strings.Join(messages, " ")
			if q.Before = page.Older; q.Before == 0 {
				return text
			}
			text += "|"
		}
	}
	require.Equal(t, "0 1 2 3 4 5 6 7 8", pages(everything), "all is in the audit stream")

	require.NoError(t, audit.Purge(ctx, jetstream.WithPurgeSequence(9))) // its events and those of members take turns
	require.Equal(t, "4 5 6 7 8|0 1 2 3", pages(everything))
	require.Equal(t, "7 8|5 6|4|2 3|0 1", pages(streams.AuditQuery{By: "anna", Limit: 2}))
	require.Equal(t, "4 5 6 7 8|0 1 2 3", pages(streams.AuditQuery{By: "anna", Object: "run/spring"}))
	require.Equal(t, "|", pages(streams.AuditQuery{By: "anna", Object: "run/autumn"}))
	require.Equal(t, "4 5 6 7 8|", pages(streams.AuditQuery{Member: "oslo"}), "what nobody did is gone")

	newest, err := streams.ReadEvents(ctx, c, streams.AuditQuery{By: "anna", Limit: 2})
	require.NoError(t, err)
	require.NoError(t, audit.Purge(ctx, jetstream.WithPurgeSequence(17))) // meanwhile, behind what was shown
	require.Equal(t, "|0 1 2 3 4 5 6", pages(streams.AuditQuery{By: "anna", Before: newest.Older}), "what was shown does not come again")
	require.Equal(t, "8|0 1 2 3 4 5 6 7", pages(everything))

	acts, err := c.JS.Stream(ctx, c.Fleet.Stream(subjects.Acts))
	require.NoError(t, err)
	for _, sequence := range []uint64{2, 4, 5, 9} { // by hand
		require.NoError(t, acts.DeleteMsg(ctx, sequence))
	}
	require.Equal(t, "8|0 2 5 6 7", pages(everything))
	require.NoError(t, audit.Purge(ctx))
	require.Equal(t, "|0 2 5 6 7", pages(everything))
	require.NoError(t, acts.Purge(ctx))
	require.Empty(t, pages(everything))
}
