package watch

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"flotilla/bus"
	"flotilla/core/api"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// The cache is whole again only after a listing that began after something may have been missed; one
// that was under way does not count.
func TestAListingThatBeganTooEarlyDoesNotCount(t *testing.T) {
	m := NewMirror(func(string) {})
	m.begin()
	m.opened(listing{last: 3})
	m.lost()
	m.listed()
	require.False(t, m.IsSynced())
	m.begin()
	m.opened(listing{last: 3})
	m.listed()
	require.True(t, m.IsSynced())
	m.lost()
	require.False(t, m.IsSynced())
}

// A stream that has fewer messages than were seen of it is believed, also when only a replica says so that is behind:
// what it lists counts once all of it came, and nobody decides on the half of it.
func TestAListingThatGoesBackIsNotWholeBeforeItsEnd(t *testing.T) {
	m := NewMirror(func(string) {})
	m.begin()
	m.opened(listing{last: 0})
	m.listed()
	m.take(Message{Key: "a", Value: []byte("new"), Sequence: 5})
	require.True(t, m.IsSynced())

	m.begin()
	m.opened(listing{last: 3})
	m.take(Message{Key: "a", Value: []byte("old"), Sequence: 2, replayed: true})
	found, _ := m.Get("a")
	require.Equal(t, "old", string(found.Value))
	require.False(t, m.IsSynced())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, m.WaitSynced(ctx), context.Canceled)
	m.take(Message{Key: "a", Value: []byte("new"), Sequence: 5})
	m.listed()
	require.True(t, m.IsSynced())
	require.NoError(t, m.WaitSynced(t.Context()))
}

func TestOlderMessagesAreIgnored(t *testing.T) {
	var woken []string
	m := NewMirror(func(key string) { woken = append(woken, key) })
	m.take(Message{Key: "a", Value: []byte("5"), Sequence: 5})
	m.take(Message{Key: "a", Value: []byte("4"), Sequence: 4})
	m.take(Message{Key: "a", Sequence: 6})
	m.take(Message{Key: "a", Value: []byte("5"), Sequence: 5})
	_, there := m.Get("a")
	require.False(t, there, "a delete is not undone by an older write")
	m.take(Message{Key: "b", Sequence: 7})
	m.message(Message{Key: "c.*", Value: []byte("x"), Sequence: 8})
	require.Equal(t, []string{"a", "a"}, woken)
	require.Empty(t, m.Keys(""))
}

// A listing ends while an own write is newer than the listing: the write stays. What the listing should
// have had and had not is gone.
func TestAListingRemovesOnlyWhatItShouldHaveHad(t *testing.T) {
	var woken []string
	m := NewMirror(func(key string) { woken = append(woken, key) })
	for i, key := range []string{"seen", "gone", "own"} {
		m.take(Message{Key: key, Value: []byte("1"), Sequence: uint64(i + 1)})
	}
	woken = nil
	m.begin()
	m.opened(listing{last: 3})
	m.take(Message{Key: "own", Value: []byte("2"), Sequence: 4})
	m.take(Message{Key: "seen", Value: []byte("1"), Sequence: 1, replayed: true})
	m.listed()
	require.Equal(t, []string{"own", "seen"}, m.Keys(""))
	require.Equal(t, []string{"own", "gone"}, woken)
}

// The clocks of hub and broker are an hour apart. The age of a replayed entry is measured by the
// broker's clock up to the listing and by the hub's from there on.
func TestTheAgeOfAReplayedEntryNeedsNoCommonClock(t *testing.T) {
	c := &Cache{conn: &bus.Conn{}, mirror: NewMirror(func(string) {})}
	local := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	broker := local.Add(time.Hour)
	c.mirror.begin()
	c.mirror.opened(listing{last: 1, broker: broker, local: local})
	c.mirror.take(Message{Key: "berlin", Value: []byte("{}"), Sequence: 1, stored: broker.Add(-5 * time.Minute), replayed: true})
	entry, ok := c.Get("berlin")
	require.True(t, ok)
	require.Equal(t, 6*time.Minute, c.Age(entry, local.Add(time.Minute)))
}

// Values that cannot be decoded are logged by member, however many keys it has.
func TestWhatCannotBeDecodedIsLoggedByMember(t *testing.T) {
	var log bytes.Buffer
	c := &Cache{conn: &bus.Conn{Log: zerolog.New(&log)}, mirror: NewMirror(func(string) {})}
	c.mirror.begin()
	c.mirror.opened(listing{last: 200})
	for i := range 100 {
		for j, member := range []string{"berlin", "oslo"} {
			key := fmt.Sprintf("%s.placement.p%d", member, i)
			c.mirror.take(Message{Key: key, Value: []byte("{"), Sequence: uint64(2*i + j + 1)})
			value, _ := ValuesOf[api.Header](c).Get(key)
			require.Nil(t, value)
		}
	}
	for _, member := range []string{"berlin", "oslo"} {
		require.Equal(t, 20, strings.Count(log.String(), `"key":"`+member+`.`), member)
	}
}

// Who is told of a write that was acknowledged finds the rooms informed, also when the watcher brought the
// record first and is still telling them: an upgrade that is started right after a window was written must
// not miss it. They are told once.
func TestAnOwnWriteIsHeardOfWhenItIsAcknowledged(t *testing.T) {
	telling, told, release := make(chan struct{}), make(chan string, 2), make(chan struct{})
	m := NewMirror(func(key string) {
		close(telling)
		<-release
		told <- key
	})
	written := Message{Key: "a", Value: []byte("1"), Sequence: 1}
	watched, owned := make(chan struct{}), make(chan int)
	go func() {
		defer close(watched)
		m.message(written)
	}()
	<-telling
	go func() {
		m.Own(written)
		owned <- len(told)
	}()
	require.Eventually(t, func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.telling["a"].over != nil
	}, 10*time.Second, time.Millisecond, "own does not wait")
	close(release)
	require.Equal(t, 1, <-owned)
	<-watched
	require.Len(t, told, 1)
	m.Own(written)
	require.Empty(t, m.telling)
}

// What was told is everything before the first change of which whoever listens has not heard.
func TestToldIsWhatListenersHaveHeard(t *testing.T) {
	var m *Mirror
	var inside []uint64
	m = NewMirror(func(string) { inside = append(inside, m.Told()) })
	m.take(Message{Key: "a", Value: []byte("4"), Sequence: 4})
	m.take(Message{Key: "b", Value: []byte("9"), Sequence: 9})
	m.take(Message{Key: "c", Sequence: 11}) // nothing to tell of
	require.Equal(t, []uint64{3, 8}, inside)
	require.EqualValues(t, 11, m.Told())
}
