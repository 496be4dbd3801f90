package streams_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/seal"
	"flotilla/subjects"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// leads says that this hub leads.
func leads() bool { return true }

func TestContentIsWrittenOnce(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	agent := server.Agent(t, "berlin")
	body := []byte(`{"kind":"ConfigMap"}`)
	digest := bustest.Put(t, store, body)
	require.Equal(t, digest, bustest.Put(t, store, body))
	piece := store.Keys.Piece(digest)

	_, err := store.Conn.JS.Publish(bustest.Context(t), store.Conn.Fleet.BucketSubject(subjects.Content, piece.At), []byte("forged"))
	require.Error(t, err, "the server refuses a second write of a key")
	found, err := store.Content.Get(bustest.Context(t), digest)
	require.NoError(t, err)
	require.Equal(t, body, found)
	sealed, err := agent.Content(bustest.Context(t), piece.At)
	require.NoError(t, err)
	require.NotContains(t, string(sealed), "ConfigMap")
	found, err = seal.Open(piece, sealed, bus.MaxContent)
	require.NoError(t, err)
	require.Equal(t, body, found)
	stream, err := store.Conn.JS.Stream(t.Context(), store.Conn.Fleet.BucketStream(subjects.Content))
	require.NoError(t, err)
	require.EqualValues(t, 1, stream.CachedInfo().State.Msgs)
}

func TestContentThatIsMissingWrongOrTooLong(t *testing.T) {
	server := bustest.Start(t)
	store := server.Lead(t)
	agent := server.Agent(t, "berlin")
	digest := store.Keys.Digest([]byte("a"))
	at := store.Keys.Piece(digest).At
	_, err := agent.Content(bustest.Context(t), at)
	require.ErrorIs(t, err, bus.ErrNotFound)
	_, err = agent.Content(bustest.Context(t), "*")
	require.ErrorContains(t, err, "expected 64 hexadecimal digits")
	_, err = store.Content.Get(bustest.Context(t), digest)
	require.ErrorIs(t, err, bus.ErrNotFound)

	_, err = store.Conn.JS.Publish(bustest.Context(t), store.Conn.Fleet.BucketSubject(subjects.Content, at), []byte("b"))
	require.NoError(t, err)
	_, err = store.Content.Get(bustest.Context(t), digest)
	require.ErrorIs(t, err, bus.ErrCorrupt)
	require.ErrorIs(t, store.Content.Put(bustest.Context(t), digest, []byte(strings.Repeat("x", bus.MaxContent+1))), bus.ErrTooLarge)
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
	noise := make([]byte, 8<<10)
	_, _ = rand.Read(noise)
	require.ErrorContains(t, store.Content.Put(bustest.Context(t), store.Keys.Digest(noise), noise), "maximum bytes exceeded")
}

func TestSweepTakesTwoPassesAnHourApart(t *testing.T) {
	store := bustest.Start(t).Lead(t)
	digests := map[string]string{}
	for _, body := range []string{"kept", "dropped", "used late", "put again"} {
		digests[body] = bustest.Put(t, store, []byte(body))
	}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	sweep := func(after time.Duration, used ...string) []string {
		t.Helper()
		removed, err := store.Content.Sweep(bustest.Context(t), now.Add(after), func() (map[string]bool, bool, error) {
			roots := map[string]bool{}
			for _, body := range used {
				roots[digests[body]] = true
			}
			return roots, true, nil
		}, leads)
		require.NoError(t, err)
		return removed
	}
	require.Empty(t, sweep(0, "kept"))
	require.Empty(t, sweep(59*time.Minute, "kept", "used late"))
	bustest.Put(t, store, []byte("put again"))
	require.Equal(t, []string{store.Keys.Piece(digests["dropped"]).At}, sweep(61*time.Minute, "kept"), "the others were in use or put since")
	_, err := store.Content.Get(bustest.Context(t), digests["dropped"])
	require.ErrorIs(t, err, bus.ErrNotFound)
	for _, body := range []string{"kept", "used late", "put again"} {
		_, err := store.Content.Get(bustest.Context(t), digests[body])
		require.NoError(t, err, body)
	}
	_, err = store.Content.Sweep(bustest.Context(t), now.Add(5*time.Hour), func() (map[string]bool, bool, error) { return nil, true, errors.New("not synced") }, leads)
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
		digests = append(digests, bustest.Put(t, store, []byte(fmt.Sprint("body ", i))))
	}
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	none := func() (map[string]bool, bool, error) { return nil, true, nil }
	_, err := store.Content.Sweep(bustest.Context(t), now, none, leads)
	require.NoError(t, err)
	put := make(chan error, 1)
	removed, err := store.Content.Sweep(bustest.Context(t), now.Add(2*time.Hour), func() (map[string]bool, bool, error) {
		go func() { // it waits for the roots to be read, and for no more than one removal
			defer store.Content.Hold()()
			var err error
			for i := range bodies {
				if e := store.Content.Put(bustest.Context(t), digests[i], []byte(fmt.Sprint("body ", i))); e != nil {
					err = e
				}
			}
			put <- err
		}()
		return nil, true, nil
	}, leads)
	require.NoError(t, err)
	require.NoError(t, bustest.Within(t, put, "the bodies are put again"))
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
		_, err := store.Content.Sweep(bustest.Context(t), time.Now(), func() (map[string]bool, bool, error) { close(asked); return nil, true, nil }, leads)
		swept <- err
	}()
	bustest.Put(t, store, []byte("a"))
	select {
	case <-asked:
		require.Fail(t, "roots were read under a hold")
	default:
	}
	release()
	require.NoError(t, bustest.Within(t, swept, "the sweep ends"))
}

// swept is one pass over content, of which what was given is referred to; it returns what it removed.
func swept(t *testing.T, store *store.Store, now time.Time, soon bool, used ...string) []string {
	t.Helper()
	roots := func() (map[string]bool, bool, error) {
		digests := map[string]bool{}
		for _, digest := range used {
			digests[digest] = true
		}
		return digests, true, nil
	}
	sweep := store.Content.Sweep
	if soon {
		sweep = store.Content.SweepSoon
	}
	removed, err := sweep(bustest.Context(t), now, roots, leads)
	require.NoError(t, err)
	return removed
}

// What a backup has listed is needed although nothing refers to it.
func TestContentThatIsShortOfRoomIsSweptSoonButForBackups(t *testing.T) {
	store := bustest.Start(t).Lead(t)
	kept, listed := bustest.Put(t, store, []byte("kept")), bustest.Put(t, store, []byte("listed"))
	_, err := store.Content.Listed(bustest.Context(t))
	require.NoError(t, err)
	idle := bustest.Put(t, store, []byte("idle"))
	at := func(digest string) string { return store.Keys.Piece(digest).At }

	now := store.Now()
	require.Empty(t, swept(t, store, now, true, kept))
	require.Empty(t, swept(t, store, now.Add(29*time.Second), true, kept), "who read of it before is to find it")
	require.Equal(t, []string{at(idle)}, swept(t, store, now.Add(31*time.Second), true, kept))
	require.Equal(t, []string{at(listed)}, swept(t, store, now.Add(2*time.Hour), true, kept))
	_, err = store.Content.Get(bustest.Context(t), kept)
	require.NoError(t, err)

	again := bustest.Put(t, store, []byte("again"))
	swept(t, store, now.Add(2*time.Hour), true, kept)
	removed, err := store.Content.SweepSoon(bustest.Context(t), now.Add(3*time.Hour), func() (map[string]bool, bool, error) { return nil, true, nil }, func() bool { return false })
	require.NoError(t, err)
	require.Empty(t, removed, "another hub leads, and may refer to it")
	_, err = store.Content.Get(bustest.Context(t), again)
	require.NoError(t, err)
}

func TestWhatOnePersonLeavesIdleIsBounded(t *testing.T) {
	store := bustest.Start(t).Lead(t)
	stream, err := store.Conn.JS.Stream(t.Context(), store.Conn.Fleet.BucketStream(subjects.Content))
	require.NoError(t, err)
	config := stream.CachedInfo().Config
	config.MaxBytes = 256 << 10 // a part of which is 16 KiB
	_, err = store.Conn.JS.UpdateStream(t.Context(), config)
	require.NoError(t, err)
	percent, err := store.Content.Percent(bustest.Context(t))
	require.NoError(t, err)
	require.Zero(t, percent)
	put := func(person string) (digest string) {
		t.Helper()
		noise := make([]byte, 10<<10)
		_, _ = rand.Read(noise)
		digest = store.Keys.Digest(noise)
		require.NoError(t, store.Content.Put(streams.As(bustest.Context(t), person), digest, noise))
		return digest
	}
	over := func(person string) bool {
		_, _, _, over := store.Content.Overdrawn(person)
		return over
	}
	now := store.Now()
	used := []string{put("olga"), put("olga"), put("ines")}
	require.True(t, store.Content.Wants())
	require.Empty(t, swept(t, store, now, false, used...))
	require.False(t, store.Content.Wants(), "something refers to all of it")

	idle := []string{store.Keys.Piece(put("olga")).At, store.Keys.Piece(put("olga")).At}
	ines := put("ines")
	<-store.Content.Wanted()
	require.False(t, over("olga"), "nobody has looked whether it is idle")
	require.Empty(t, swept(t, store, now, false, used...))
	bytes, most, until, is := store.Content.Overdrawn("olga")
	require.True(t, is)
	require.Greater(t, bytes, int64(20<<10))
	require.EqualValues(t, 16<<10, most)
	require.Equal(t, now.Add(30*time.Second), until)
	require.False(t, over("ines"), "others go on")
	require.ElementsMatch(t, idle, swept(t, store, now.Add(30*time.Second), false, used...), "and what is idle of others stays for an hour")
	require.False(t, over("olga"))
	for _, digest := range append(used, ines) {
		_, err := store.Content.Get(bustest.Context(t), digest)
		require.NoError(t, err)
	}
	percent, err = store.Content.Percent(bustest.Context(t))
	require.NoError(t, err)
	require.Equal(t, 15, percent)

	for range 2 {
		require.NoError(t, stream.Purge(bustest.Context(t), jetstream.WithPurgeSubject(store.Conn.Fleet.BucketSubject(subjects.Content, store.Keys.Piece(put("olga")).At))))
	}
	swept(t, store, now.Add(time.Minute), false, used...)
	require.False(t, over("olga"), "what somebody else removed is not held against her")
	kept := []string{put("olga"), put("olga")}
	_, err = store.Content.Listed(bustest.Context(t))
	require.NoError(t, err)
	require.Empty(t, swept(t, store, store.Now(), false, used...))
	require.False(t, over("olga"), "nor what a backup keeps: %v", kept)
}
