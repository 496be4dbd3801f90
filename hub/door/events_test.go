package door_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/door"
)

// An answer holds a bounded number of events, found among a bounded number, and says where older ones begin: also one that
// found nothing. Page by page a person's event behind a flood is found, and events that come meanwhile move no page.
func TestADoorAnswersEventsPageByPage(t *testing.T) {
	h := open(t, door.Options{})
	bustest.Flood(t, h.store.Conn, 1, api.Audit{Object: "placement/web", Reason: "Created", By: "anna"})
	flood := api.Audit{Object: "member/mallory", Reason: "Flaps", By: "reporter", Member: "mallory"}
	bustest.Flood(t, h.store.Conn, 12_000, flood)

	request := api.EventsRequest{By: "anna", Limit: 1000}
	first := must[api.EventsResponse](h, api.VerbEvents, request)
	require.Empty(t, first.Events)
	require.NotZero(t, first.Older)
	bustest.Flood(t, h.store.Conn, 1, api.Audit{Object: "placement/web", Reason: "Configured", By: "anna"})
	request.Before = first.Older
	second := must[api.EventsResponse](h, api.VerbEvents, request)
	require.Len(t, second.Events, 1)
	require.Equal(t, "Created", second.Events[0].Reason)
	require.Zero(t, second.Older)

	many := must[api.EventsResponse](h, api.VerbEvents, api.EventsRequest{Object: flood.Object, Limit: 1_000_000})
	require.Len(t, many.Events, 600)
	require.NotZero(t, many.Older)
}
