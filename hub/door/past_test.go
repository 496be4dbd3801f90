package door_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/bustest"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/hub/door"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// hops are those of a member, with their states.
func hops(m *api.TracedMember) (lines []string) {
	for _, h := range m.Hops {
		lines = append(lines, h.Hop+" "+h.State)
	}
	return lines
}

// The door puts together what records, commands, results and heartbeats tell of the way of a change.
func TestADoorTraces(t *testing.T) {
	h := open(t, door.Options{})
	uid := h.apply(shopNamespace, config("a", "1"), web)[2].UID
	schedule := &api.Schedule{Placement: "web", UID: uid, Generation: 1, Bindings: []api.Binding{{Member: "berlin"}}}
	write(h, subjects.Schedules, "web", *schedule)
	write(h, subjects.Releases, "web", api.Release{Placement: "web", Step: 1, Entries: []api.ReleaseEntry{
		{Member: "berlin", UID: uid, Snapshot: 1, Generation: 1, Since: metav1.NewTime(elsewhen.Now().Truncate(time.Second))},
	}})
	traced := func() api.Trace { return must[api.Trace](h, api.VerbTrace, api.TraceRequest{Object: webPlacement}) }
	first := traced()
	require.Equal(t, "snapshot 1", first.Change.What)
	require.NotEmpty(t, first.Change.By)
	require.False(t, first.KeptFrom.IsZero())
	require.Len(t, first.Members, 1)
	require.Equal(t, []string{
		"apply Done", "snapshot Done", "schedule Unknown", "release Done", "command Waits", "received Pending", "applied Pending", "available Pending", "reported Pending",
	}, hops(&first.Members[0]))
	require.Equal(t, "its index is not stored yet; nobody has heard of the member yet", first.Members[0].Hops[4].Note)

	order := api.Order{Epoch: 1, Term: 1, Generation: 1}
	_, err := h.store.Commands.Publish(bustest.Context(t), streams.CommandHead{Member: "berlin", Kind: subjects.CommandPlacement, Order: order}, api.PlacementCommand{}, 0)
	require.NoError(t, err)
	ahead := elsewhen.Now().Add(time.Hour)
	agent, after := h.server.Agent(t, "berlin"), int64(1)
	require.NoError(t, agent.PutHeartbeat(bustest.Context(t), api.Heartbeat{Header: api.NewHeader(api.KindHeartbeat), Member: "berlin", Sent: ahead.UnixMilli()}))
	require.NoError(t, agent.PutResult(bustest.Context(t), subjects.CommandPlacement, "web", api.PlacementResult{
		Header: api.NewHeader(api.KindPlacementResult), Member: "berlin", Placement: "web", UID: uid, Generation: 1, Snapshot: 1, Order: order,
		Applied: "True", Available: "True", Changed: metav1.NewTime(ahead),
		Times: &api.ResultTimes{Received: ahead.UnixMilli(), Command: 1, Applied: &after, Available: &after},
	}))
	bustest.Eventually(t, func() error {
		m := traced().Members[0]
		if !m.Done || m.Clock == nil || m.Clock.AheadMs < time.Hour.Milliseconds()-10_000 {
			return fmt.Errorf("expected that it is there, with a clock that is ahead: %+v", m)
		}
		return nil
	})
	_, refused := ask[api.Trace](h, api.VerbTrace, api.TraceRequest{Object: webPlacement, Member: "oslo"})
	require.Equal(t, api.CodeNotFound, refused.Code)
	require.Equal(t, "flotilla why placement/web -m oslo", refused.Next)
	_, refused = ask[api.Trace](h, api.VerbTrace, api.TraceRequest{Object: api.ObjectRef{Kind: api.KindClusterResourcePlacement, Name: "none"}})
	require.Equal(t, api.CodeNotFound, refused.Code)
}

// A placement has a history, also once it is gone, and was what it was; events carry the spec where there is room.
func TestADoorTellsWhatWas(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace, config("a", "1"), web)
	h.apply(config("a", "2"))
	told := func(request api.PastRequest, entries int) api.Past {
		t.Helper()
		var past api.Past
		request.Object = webPlacement
		bustest.Eventually(t, func() error {
			if past = must[api.Past](h, api.VerbHistory, request); len(past.Entries) < entries {
				return errors.New("events are on their way")
			}
			return nil
		})
		return past
	}
	whole := told(api.PastRequest{At: metav1.NewMicroTime(elsewhen.Now().Add(time.Second))}, 3)
	var whats []string
	for _, e := range whole.Entries {
		whats = append(whats, e.What)
	}
	require.Equal(t, []string{api.PastApplied, api.PastSnapshot, api.PastSnapshot}, whats)
	require.Equal(t, int64(1), whole.Entries[0].Generation)
	require.True(t, whole.Then.Existed)
	require.Equal(t, int64(2), whole.Then.Snapshot)
	require.Contains(t, string(whole.Then.Spec), "resourceSelectors")
	require.False(t, told(api.PastRequest{At: metav1.NewMicroTime(whole.KeptFrom.Add(-time.Minute))}, 3).Then.Existed)

	erase[api.Spec](h, subjects.PlacementSpecs, "web")
	gone := told(api.PastRequest{Limit: 1}, 1)
	require.True(t, gone.Gone)
	require.Len(t, gone.Entries, 1)
	require.Equal(t, 2, gone.Left)
	_, refused := ask[api.Past](h, api.VerbHistory, api.PastRequest{Object: api.ObjectRef{Kind: api.KindClusterResourcePlacement, Name: "none"}})
	require.Equal(t, api.CodeNotFound, refused.Code)
}
