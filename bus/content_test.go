package bus_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/subjects"

	"github.com/stretchr/testify/require"
)

func TestContentIsWrittenOnce(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	agent := server.Agent(t, "berlin")
	body := []byte(`{"kind":"ConfigMap"}`)
	digest, err := store.Content.Put(bustest.Context(t), body)
	require.NoError(t, err)
	require.Equal(t, bus.Digest(body), digest)
	again, err := store.Content.Put(bustest.Context(t), body)
	require.NoError(t, err)
	require.Equal(t, digest, again)

	_, err = store.Conn.JS.Publish(bustest.Context(t), store.Conn.Fleet.BucketSubject(subjects.Content, digest), []byte("forged"))
	require.Error(t, err, "the server refuses a second write of a key")
	for _, get := range []func() ([]byte, error){
		func() ([]byte, error) { return store.Content.Get(bustest.Context(t), digest) },
		func() ([]byte, error) { return agent.Content(bustest.Context(t), digest) },
	} {
		found, err := get()
		require.NoError(t, err)
		require.Equal(t, body, found)
	}
	stream, err := store.Conn.JS.Stream(t.Context(), store.Conn.Fleet.BucketStream(subjects.Content))
	require.NoError(t, err)
	require.EqualValues(t, 1, stream.CachedInfo().State.Msgs)
}

func TestContentThatIsMissingWrongOrTooLong(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	agent := server.Agent(t, "berlin")
	digest := bus.Digest([]byte("a"))
	_, err := agent.Content(bustest.Context(t), digest)
	require.ErrorIs(t, err, bus.ErrNotFound)
	_, err = agent.Content(bustest.Context(t), "*")
	require.ErrorContains(t, err, "expected a sha256")

	_, err = store.Conn.JS.Publish(bustest.Context(t), store.Conn.Fleet.BucketSubject(subjects.Content, digest), []byte("b"))
	require.NoError(t, err)
	_, err = agent.Content(bustest.Context(t), digest)
	require.ErrorIs(t, err, bus.ErrCorrupt)
	_, err = store.Content.Put(bustest.Context(t), []byte(strings.Repeat("x", bus.MaxContent+1)))
	require.ErrorIs(t, err, bus.ErrTooLarge)
}

// A full store answers under the same code as a second write of a key; it must not be taken for success.
func TestAFullContentStoreIsAnError(t *testing.T) {
	store := bustest.Start(t).Lead(t)
	stream, err := store.Conn.JS.Stream(t.Context(), store.Conn.Fleet.BucketStream(subjects.Content))
	require.NoError(t, err)
	config := stream.CachedInfo().Config
	config.MaxBytes = 4 << 10
	_, err = store.Conn.JS.UpdateStream(t.Context(), config)
	require.NoError(t, err)
	_, err = store.Content.Put(bustest.Context(t), []byte(strings.Repeat("x", 8<<10)))
	require.ErrorContains(t, err, "maximum bytes exceeded")
}

func TestSweepTakesTwoPassesAnHourApart(t *testing.T) {
	store := bustest.Start(t).Lead(t)
	digests := map[string]string{}
	for _, body := range []string{"kept", "dropped", "used late", "put again"} {
		digest, err := store.Content.Put(bustest.Context(t), []byte(body))
		require.NoError(t, err)
		digests[body] = digest
	}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	sweep := func(after time.Duration, used ...string) []string {
		t.Helper()
		removed, err := store.Content.Sweep(bustest.Context(t), now.Add(after), func() (map[string]bool, error) {
			roots := map[string]bool{}
			for _, body := range used {
				roots[digests[body]] = true
			}
			return roots, nil
		})
		require.NoError(t, err)
		return removed
	}
	require.Empty(t, sweep(0, "kept"))
	require.Empty(t, sweep(59*time.Minute, "kept", "used late"))
	_, err := store.Content.Put(bustest.Context(t), []byte("put again"))
	require.NoError(t, err)
	require.Equal(t, []string{digests["dropped"]}, sweep(61*time.Minute, "kept"), "the others were in use or put since")
	_, err = store.Content.Get(bustest.Context(t), digests["dropped"])
	require.ErrorIs(t, err, bus.ErrNotFound)
	for _, body := range []string{"kept", "used late", "put again"} {
		_, err := store.Content.Get(bustest.Context(t), digests[body])
		require.NoError(t, err, body)
	}
	_, err = store.Content.Sweep(bustest.Context(t), now.Add(5*time.Hour), func() (map[string]bool, error) { return nil, errors.New("not synced") })
	require.ErrorContains(t, err, "not synced")
	_, err = store.Content.Get(bustest.Context(t), digests["kept"])
	require.NoError(t, err, "a sweep without roots removes nothing")
}

// TestSweepSparesWhatIsPutWhileItRemoves puts a body again between the look at the roots and its removal.
func TestSweepSparesWhatIsPutWhileItRemoves(t *testing.T) {
	store := bustest.Start(t).Lead(t)
	const bodies = 40
	var digests []string
	for i := range bodies {
		digest, err := store.Content.Put(bustest.Context(t), []byte(fmt.Sprint("body ", i)))
		require.NoError(t, err)
		digests = append(digests, digest)
	}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	none := func() (map[string]bool, error) { return nil, nil }
	_, err := store.Content.Sweep(bustest.Context(t), now, none)
	require.NoError(t, err)
	put := make(chan error, 1)
	removed, err := store.Content.Sweep(bustest.Context(t), now.Add(2*time.Hour), func() (map[string]bool, error) {
		go func() { // it waits for the roots to be read, and for no more than one removal
			defer store.Content.Hold()()
			var err error
			for i := range bodies {
				if _, e := store.Content.Put(bustest.Context(t), []byte(fmt.Sprint("body ", i))); e != nil {
					err = e
				}
			}
			put <- err
		}()
		return nil, nil
	})
	require.NoError(t, err)
	require.NoError(t, within(t, put, "the bodies are put again"))
	require.Less(t, len(removed), bodies, "a Put need not wait for the whole sweep")
	for _, digest := range digests {
		_, err := store.Content.Get(bustest.Context(t), digest)
		require.NoError(t, err)
	}
}

func TestSweepWaitsForTheHold(t *testing.T) {
	store := bustest.Start(t).Lead(t)
	release := store.Content.Hold()
	swept := make(chan error, 1)
	asked := make(chan struct{})
	go func() {
		_, err := store.Content.Sweep(bustest.Context(t), time.Now(), func() (map[string]bool, error) { close(asked); return nil, nil })
		swept <- err
	}()
	_, err := store.Content.Put(bustest.Context(t), []byte("a"))
	require.NoError(t, err)
	select {
	case <-asked:
		require.Fail(t, "roots were read under a hold")
	default:
	}
	release()
	require.NoError(t, within(t, swept, "the sweep ends"))
}
