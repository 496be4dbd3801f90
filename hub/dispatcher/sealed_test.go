package dispatcher_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/dispatcher"
	"flotilla/subjects"
)

// sealedTo makes a member one whose agent registered a key, and returns what reads what the member would.
func (y *yard) sealedTo(member string) (read func() (api.PlacementCommand, error)) {
	y.t.Helper()
	pair, err := nkeys.CreateCurveKeys()
	require.NoError(y.t, err)
	key, err := pair.PublicKey()
	require.NoError(y.t, err)
	at := subjects.Identities.Key(member)
	_, err = y.store.Writer.Write(bustest.Context(y.t), bus.Put(at, api.Identity{Name: member, SealingKey: key}, y.store.State.Revision(at)))
	require.NoError(y.t, err)
	return func() (command api.PlacementCommand, err error) {
		stored, _, err := y.store.Commands.Get(bustest.Context(y.t), member, subjects.CommandPlacement)
		if err == nil {
			stored, err = pair.Open(stored, y.store.HubKey())
		}
		if err == nil {
			err = json.Unmarshal(stored, &command)
		}
		return command, err
	}
}

// The index of a member whose agent has a key is sealed to it, with what opens the content that it is to hold; it is
// sealed anew when the agent enrols anew, and not sent again by the next hub.
func TestAnIndexIsSealedToTheKeyOfItsMember(t *testing.T) {
	y := newYard(t)
	first := y.sealedTo("berlin")
	y.run(dispatcher.Options{})
	y.release("web", entry("berlin", 1))
	reads := func(read func() (api.PlacementCommand, error)) {
		t.Helper()
		bustest.Eventually(t, func() error {
			command, err := read()
			if err == nil && len(command.Entries) != 1 {
				err = fmt.Errorf("%+v", command)
			}
			if err == nil {
				require.Equal(t, y.store.Keys.Piece("work-1"), command.Entries[0].Piece)
			}
			return err
		})
	}
	reads(first)
	second := y.sealedTo("berlin")
	reads(second)
	_, err := first()
	require.Error(t, err, "the former key opens nothing any more")

	_, before, err := y.store.Commands.Get(bustest.Context(t), "berlin", subjects.CommandPlacement)
	require.NoError(t, err)
	y.stop()
	y.run(dispatcher.Options{})
	y.release("web", entry("berlin", 1), entry("paris", 1))
	y.awaits("paris", holds(1))
	_, after, err := y.store.Commands.Get(bustest.Context(t), "berlin", subjects.CommandPlacement)
	require.NoError(t, err)
	require.Equal(t, before.Sequence, after.Sequence)
}

// While it cannot be read to whom an index is to be sealed, none is sent: least of all in clear.
func TestAnIndexIsNotSentInClearBecauseAnIdentityIsBroken(t *testing.T) {
	y := newYard(t)
	put(y, subjects.Identities, "berlin", json.RawMessage(`{"sealingKey": 7}`))
	y.run(dispatcher.Options{})
	y.release("web", entry("berlin", 1), entry("paris", 1))
	y.awaits("paris", holds(1))
	_, _, err := y.command("berlin")
	require.ErrorIs(t, err, bus.ErrNotFound)
	read := y.sealedTo("berlin")
	bustest.Eventually(t, func() error {
		command, err := read()
		if err == nil && len(command.Entries) != 1 {
			err = errors.New("no entry yet")
		}
		return err
	})
}
