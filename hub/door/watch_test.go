package door_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/door"
)

func watching(after string, wait time.Duration, kinds ...string) api.WatchRequest {
	r := api.WatchRequest{After: after, Wait: metav1.Duration{Duration: wait}}
	for _, kind := range kinds {
		version := "v1"
		switch kind {
		case api.KindClusterResourcePlacement:
			version = api.GroupPlacement + "/v1"
		case api.KindMemberCluster:
			version = api.GroupCluster + "/v1"
		}
		r.Kinds = append(r.Kinds, api.WatchedKind{APIVersion: version, Kind: kind})
	}
	return r
}

// watches has somebody wait, and returns where the answer comes.
func (h *house) watches(c *bus.Conn, r api.WatchRequest) <-chan watched {
	answer := make(chan watched, 1)
	ctx, cancel := contextOf(h.t)
	h.t.Cleanup(cancel)
	go func() {
		var found watched
		found.err = bus.Request(ctx, c, api.VerbWatch, r, &found.WatchResponse, bus.RequestOptions{Try: time.Minute, Total: time.Minute})
		answer <- found
	}()
	return answer
}

type watched struct {
	api.WatchResponse
	err error
}

const longest = 30 * time.Second

// A watch is answered when what it names changes, and by nothing else; a change of before is not missed.
func TestAWatchIsAnsweredByChanges(t *testing.T) {
	h := open(t, door.Options{})
	h.apply(shopNamespace)
	first := must[api.WatchResponse](h, api.VerbWatch, watching("", longest, "ConfigMap"))
	require.True(t, first.Changed, "what was before is not known")
	waits := h.watches(h.client, watching(first.Mark, longest, "ConfigMap"))
	h.apply(key, web, berlin)
	for _, kind := range []string{"Secret", api.KindClusterResourcePlacement, api.KindMemberCluster} {
		require.True(t, must[api.WatchResponse](h, api.VerbWatch, watching(first.Mark, longest, kind)).Changed, kind)
	}
	quiet := must[api.WatchResponse](h, api.VerbWatch, watching(first.Mark, time.Millisecond, "ConfigMap", "Service"))
	require.False(t, quiet.Changed)
	require.Empty(t, waits)
	h.apply(settings)
	found := <-waits
	require.NoError(t, found.err)
	require.True(t, found.Changed)
	require.True(t, must[api.WatchResponse](h, api.VerbWatch, watching(quiet.Mark, longest, "Service", "ConfigMap")).Changed, "it came meanwhile")
	bustest.Eventually(t, func() error { // a change may be told twice
		again := must[api.WatchResponse](h, api.VerbWatch, watching(found.Mark, time.Millisecond, "ConfigMap"))
		if found.Mark = again.Mark; again.Changed {
			return errors.New("it is known")
		}
		return nil
	})
	for _, other := range []string{"1.1.0", found.Mark + "9999999", "anything"} {
		require.True(t, must[api.WatchResponse](h, api.VerbWatch, watching(other, longest, "ConfigMap")).Changed, "of another hub")
	}
}

// Events are told of when they are stored, so that whoever reads them finds them.
func TestAWatchOfEvents(t *testing.T) {
	h := open(t, door.Options{})
	mark := must[api.WatchResponse](h, api.VerbWatch, api.WatchRequest{Events: true}).Mark
	waits := h.watches(h.client, api.WatchRequest{Events: true, After: mark, Wait: metav1.Duration{Duration: longest}})
	h.apply(shopNamespace)
	found := <-waits
	require.NoError(t, found.err)
	require.True(t, found.Changed)
	require.NotEmpty(t, must[api.EventsResponse](h, api.VerbEvents, api.EventsRequest{}).Events)
}

// Who waits takes nobody's place: each person may wait so often and no more, others are answered meanwhile, and a hub
// that ends sends everybody to the next.
func TestWhoWaitsIsInNobodysWay(t *testing.T) {
	h := closed(t)
	stop := h.run(door.Options{People: h.server.Server})
	people := []*bus.Conn{h.add("anna", api.RoleViewer), h.add("bert", api.RoleViewer)}
	mark := must[api.WatchResponse](h, api.VerbWatch, watching("", longest, "ConfigMap")).Mark
	answers := make(chan watched, 80)
	for _, person := range people {
		for range 40 {
			waits := h.watches(person, watching(mark, longest, "ConfigMap"))
			go func() { answers <- <-waits }()
		}
	}
	for range 16 {
		var failure *api.Failure
		require.ErrorAs(t, (<-answers).err, &failure, "eight of each are refused")
		require.Equal(t, api.CodeLimit, failure.Code)
	}
	for range 40 {
		require.Nil(t, asked(people[0], t, api.VerbStatus, nil))
	}
	require.False(t, must[api.WatchResponse](h, api.VerbWatch, watching(mark, time.Millisecond, "ConfigMap")).Changed, "others may wait")
	require.Empty(t, answers)
	h.apply(shopNamespace, settings)
	for range 64 {
		require.NoError(t, (<-answers).err)
	}
	h.watches(people[0], watching(must[api.WatchResponse](h, api.VerbWatch, watching("", longest, "ConfigMap")).Mark, longest, "ConfigMap"))
	stop()
}

// A watch is refused as a whole when it names what somebody may not read, or nothing.
func TestAWatchIsRefused(t *testing.T) {
	h := peopled(t)
	viewer := h.add("vera", api.RoleViewer)
	require.Nil(t, asked(viewer, t, api.VerbWatch, watching("", 0, "ConfigMap")))
	failure := asked(viewer, t, api.VerbWatch, watching("", 0, "ConfigMap", "Secret"))
	require.Equal(t, api.CodeRefused, failure.Code)
	require.Equal(t, api.CodeRefused, asked(viewer, t, api.VerbWatch, api.WatchRequest{Kinds: []api.WatchedKind{{Kind: "Secret"}}}).Code)
	for _, n := range []int{0, 33} {
		require.Equal(t, api.CodeInvalid, asked(viewer, t, api.VerbWatch, api.WatchRequest{Kinds: make([]api.WatchedKind, n)}).Code)
	}
}
