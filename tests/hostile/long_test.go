package hostile

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/subjects"
)

// A server ends a connection over which too long a line comes: no name that somebody sends becomes one of the hub's.
func TestNoNameIsTooLongForTheHub(t *testing.T) {
	g := newGround(t)
	long := strings.Repeat("x", 5000)
	for i, c := range []struct {
		verb    string
		request any
	}{
		{api.VerbEvents, api.EventsRequest{Object: "run/" + long}},
		{api.VerbHistory, map[string]any{"object": map[string]any{"kind": api.KindClusterResourcePlacement, "name": long}}},
		{api.VerbGet, api.GetRequest{Kind: api.KindClusterResourcePlacement, Name: long}},
		{api.VerbRaw, map[string]any{"bucket": subjects.State, "key": long}},
	} {
		text, err := json.Marshal(c.request)
		require.NoError(t, err)
		answer, code := g.raw(g.fleet.Client, c.verb, fmt.Sprint("r", i), text)
		require.NotEmpty(t, code, "%s: %.100s", c.verb, answer)
		require.NotEqual(t, api.CodeInternal, code, "%s: %.100s", c.verb, answer)
	}
	// A read of the longest subject that a server takes from the member.
	subject := subjects.DirectGet(g.names.Stream(subjects.Events), g.names.NodeEvent(attacker, ""))
	inbox := subjects.Inbox(attacker)
	subject += strings.Repeat("n", 4090-len(inbox)-len(subject)-len("PUB   0"))
	conn := connectRaw(t.Context(), strings.TrimPrefix(g.fleet.Hub.Server().URL(), "nats://"), g.creds, inbox+".*")
	require.NotNil(t, conn)
	_, err := fmt.Fprintf(conn, "PUB %s %s.a 0\r\n\r\n", subject, inbox)
	require.NoError(t, err)
	oslo := g.connect(g.fleet.Hub.Server(), victim)
	content := bustest.StoreContent(g, g.hub, 100)
	for range 20 {
		found, err := oslo.Request(subjects.DirectGet(g.names.BucketStream(subjects.Content), content), nil, 5*time.Second)
		require.NoError(t, err)
		require.Empty(t, found.Header.Get(bus.HeaderStatus))
	}
	g.lives()
}
