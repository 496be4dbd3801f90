package front

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"flotilla/hub/front/bounds"
	"flotilla/hub/front/turns"
)

// An event of a watch holds room as an answer does, of its person, until it was taken or all work on the watch has ended (H45).
func TestAnEventHoldsRoomUntilItWasTaken(t *testing.T) {
	t.Parallel()
	all := turns.NewAll()
	watching, err := all.Watching.Enter("eve")
	require.NoError(t, err)
	const part = 32 << 20 // of one person
	free := func() bool {
		over, end := context.WithCancel(t.Context())
		end()
		one, err := all.Reading.Enter("eve")
		require.NoError(t, err)
		other, err := all.Reading.Enter("eve")
		require.NoError(t, err)
		defer one.Leave()
		defer other.Leave()
		return one.Hold(over, turns.Answered, part/2) == nil && other.Hold(over, turns.Answered, part/2) == nil
	}
	ctx, end := context.WithCancel(turns.With(t.Context(), watching))
	answer, request := bounds.Flushing(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/", http.NoBody))
	w := &watcher{results: make(chan watch.Event), flushed: bounds.Flushed(request.Context()), look: time.NewTicker(time.Hour)}
	sent := make(chan bool)
	send := func() {
		go func() { sent <- w.hold(ctx, 1000) && w.send(ctx, watch.Added, &unstructured.Unstructured{}) }()
		<-w.results
		require.False(t, free(), "it is encoded, or waits to be taken")
	}
	send()
	answer.(http.Flusher).Flush()
	require.True(t, <-sent)
	require.True(t, free())

	send()
	end()
	require.False(t, <-sent)
	require.False(t, free(), "it may be encoded still")
	watching.Leave()
	require.True(t, free())
}
