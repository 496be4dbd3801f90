package streams_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/streams"
	"flotilla/core/api"
)

// An event of a person lies behind more events of a flood than one query reads. Each page reads a part, says where the
// next one goes on though nothing was found in it, and the last one has the event.
func TestAnEventBehindAFloodIsFoundPageByPage(t *testing.T) {
	server := bustest.Start(t)
	c := server.Hub(t)
	server.Lead(t)
	bustest.Flood(t, c, 1, api.Audit{Object: "placement/web", Reason: "Created", By: "anna", Member: "oslo"})
	bustest.Flood(t, c, 25_000, api.Audit{Object: "member/mallory", Reason: "Flaps", By: "reporter", Member: "mallory"})
	for name, test := range map[string]struct {
		query streams.AuditQuery
		want  []int // events on each page
	}{
		"of a person":          {streams.AuditQuery{By: "anna"}, []int{0, 0, 1}},
		"of a member":          {streams.AuditQuery{Member: "oslo"}, []int{0, 0, 1}},
		"of an object":         {streams.AuditQuery{Object: "placement/web"}, []int{1}},
		"of a kind":            {streams.AuditQuery{Object: "placement/"}, []int{1}},
		"of what is flooded":   {streams.AuditQuery{Object: "member/mallory", By: "anna"}, []int{0, 0, 0}},
		"of more than is read": {streams.AuditQuery{By: "anna", Limit: 30_000}, []int{1}},
		"before all":           {streams.AuditQuery{By: "anna", Before: 1}, []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			pages := pagesOf(t, server, test.query)
			counts := make([]int, len(pages))
			for i := range pages {
				counts[i] = len(pages[i].Events)
			}
			require.Equal(t, test.want, counts)
		})
	}
}

// An object has more events than one query reads, with a flood of another between them. No event is on two pages, or on none.
func TestAFloodedObjectIsReadPageByPage(t *testing.T) {
	server := bustest.Start(t)
	c := server.Hub(t)
	server.Lead(t)
	for _, n := range []int{9_000, 4_000, 3_000} {
		bustest.Flood(t, c, n, api.Audit{Object: "placement/web", Reason: "Flaps", By: "reporter"})
		bustest.Flood(t, c, 12_000, api.Audit{Object: "member/mallory", Reason: "Flaps", By: "reporter"})
	}
	for name, query := range map[string]streams.AuditQuery{
		"by":            {Object: "placement/web", By: "reporter", Limit: 10_000},
		"as many as it": {Object: "placement/web", Limit: 10_000},
	} {
		t.Run(name, func(t *testing.T) {
			var all []uint64
			for _, page := range pagesOf(t, server, query) {
				for i := range slices.Backward(page.Events) {
					all = append(all, page.Events[i].Sequence)
				}
			}
			require.Len(t, all, 16_000)
			require.IsDecreasing(t, all)
		})
	}
}

// However long history is, the server makes two consumers for a page of it: one that counts, and one that reads.
func TestAPageIsReadWithTwoConsumers(t *testing.T) {
	server := bustest.Start(t)
	c := server.Hub(t)
	server.Lead(t)
	bustest.Flood(t, c, 1, api.Audit{Object: "placement/web", Reason: "Created", By: "anna"})
	bustest.Flood(t, c, 25_000, api.Audit{Object: "member/mallory", Reason: "Flaps", By: "reporter"})
	asked, err := c.NC.SubscribeSync("$JS.API.CONSUMER.CREATE.>")
	require.NoError(t, err)
	require.NoError(t, c.NC.Flush())
	pages := pagesOf(t, server, streams.AuditQuery{Object: "member/mallory", By: "anna"})
	require.NoError(t, c.NC.Flush())
	consumers, _, err := asked.Pending()
	require.NoError(t, err)
	require.Len(t, pages, 3)
	require.Equal(t, 5, consumers, "the last page reaches the beginning, so nothing is counted for it")
}

// pagesOf asks for older events until there are none.
func pagesOf(t *testing.T, server *bustest.Server, q streams.AuditQuery) (pages []streams.Past) {
	t.Helper()
	c := server.Inspector(t)
	for range 100 {
		past, err := streams.ReadPast(bustest.Context(t), c, q)
		require.NoError(t, err)
		if pages = append(pages, past); past.Older == 0 {
			return pages
		}
		q.Before = past.Older
	}
	require.Fail(t, "it never ends", fmt.Sprint(q))
	return nil
}
