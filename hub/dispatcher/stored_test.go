package dispatcher_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/hub/dispatcher"
	"flotilla/subjects"
)

// TestAReleaseThatCannotBeReadTakesNothingBack keeps the command as it was.
func TestAReleaseThatCannotBeReadTakesNothingBack(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{})
	y.release("web", entry("berlin", 1))
	y.awaits("berlin", holds(1))
	key := subjects.Releases.Key("web")
	_, err := y.store.Writer.Write(bustest.Context(t), store.Put(key, json.RawMessage(`{"entries":7}`), y.store.State.Revision(key)))
	require.NoError(t, err)
	y.release("zoo", entry("berlin", 7))
	y.awaits("berlin", holds(1, 7))
}

// TestALostCommandIsSentAgain takes commands out of the stream, as a broker that lost its last second
// would, and reconnects.
func TestALostCommandIsSentAgain(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{})
	y.release("web", entry("berlin", 1), entry("oslo", 1))
	_, before := y.awaits("berlin", holds(1))
	y.awaits("oslo", holds(1))
	stream, err := y.store.Conn.JS.Stream(bustest.Context(t), y.store.Conn.Fleet.Stream(subjects.Commands))
	require.NoError(t, err)
	subject := y.store.Conn.Fleet.Command("berlin", subjects.CommandPlacement)
	require.NoError(t, stream.Purge(bustest.Context(t), jetstream.WithPurgeSubject(subject)))
	_, _, err = y.command("berlin")
	require.ErrorIs(t, err, bus.ErrNotFound)

	require.NoError(t, y.store.Conn.NC.ForceReconnect())
	_, after := y.awaits("berlin", holds(1))
	require.Positive(t, after.Order.Compare(before.Order), "the lost command may have been read")
}

// Nothing is to be on a member any more whose command is lost: its agent may have read that, and is told.
func TestALostCommandIsTakenBack(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{})
	y.release("web", entry("berlin", 1))
	_, before := y.awaits("berlin", holds(1))
	stream, err := y.store.Conn.JS.Stream(bustest.Context(t), y.store.Conn.Fleet.Stream(subjects.Commands))
	require.NoError(t, err)
	subject := y.store.Conn.Fleet.Command("berlin", subjects.CommandPlacement)
	require.NoError(t, stream.Purge(bustest.Context(t), jetstream.WithPurgeSubject(subject)))
	y.release("web")
	_, after := y.awaits("berlin", holds())
	require.Positive(t, after.Order.Compare(before.Order))
}

// TestCommandsOfAMemberThatLeftAreRemoved waits for its last placement and its record to be gone.
func TestCommandsOfAMemberThatLeftAreRemoved(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{})
	put(y, subjects.Members, "berlin", api.MemberRecord{Name: "berlin"})
	y.release("web", entry("berlin", 1), entry("oslo", 1))
	y.awaits("berlin", holds(1))
	y.awaits("oslo", holds(1))
	for _, key := range []string{subjects.MemberSpecs.Key("berlin"), subjects.Members.Key("berlin")} {
		_, err := y.store.Writer.Write(bustest.Context(t), store.Delete(key, y.store.State.Revision(key)))
		require.NoError(t, err)
	}
	y.release("web", entry("berlin", 2), entry("oslo", 2))
	y.awaits("berlin", holds(2))
	y.release("web")
	bustest.Eventually(t, func() error {
		if _, head, err := y.command("berlin"); !errors.Is(err, bus.ErrNotFound) {
			return fmt.Errorf("still there: %+v, %w", head, err)
		}
		return nil
	})
	y.awaits("oslo", holds())
}

// member writes the spec of a member, as the door would.
func (y *yard) member(name string) {
	y.t.Helper()
	put(y, subjects.MemberSpecs, name, api.Spec{Object: api.ObjectRef{Kind: api.KindMemberCluster, Name: name}, UID: "m", Body: json.RawMessage(`{}`)})
}
