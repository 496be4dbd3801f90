package dispatcher_test

import (
	"encoding/json"
	"testing"

	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/hub/dispatcher"
	"flotilla/subjects"
)

// enrol makes an agent of a member that registered a key, in place of the one before.
func (y *yard) enrol(member string) {
	y.t.Helper()
	pair, err := nkeys.CreateCurveKeys()
	require.NoError(y.t, err)
	key, err := pair.PublicKey()
	require.NoError(y.t, err)
	y.keys[member] = pair
	put(y, subjects.Identities, member, api.Identity{Name: member, SealingKey: key})
}

// opened is a stored index as the agent of a member reads it.
func (y *yard) opened(member string, stored []byte) (command api.PlacementCommand, err error) {
	hub, err := bus.HubKey(y.store.Keys)
	require.NoError(y.t, err)
	if stored, err = y.keys[member].Open(stored, hub); err == nil {
		err = bus.Decode(stored, bus.CommandBounds, &command)
	}
	return command, err
}

// An index is sealed to the key of its member's agent, with what opens the content that it is to hold; it is sealed
// anew when another agent takes the place of that one, and not sent again by the next hub. What is withdrawn has no
// key in it.
func TestAnIndexIsSealedToTheKeyOfItsMember(t *testing.T) {
	y := newYard(t)
	y.run(dispatcher.Options{})
	gone := entry("berlin", 2)
	gone.Withdrawn = true
	y.release("gone", gone)
	y.release("web", entry("berlin", 1))
	command, _ := y.awaits("berlin", func(c api.PlacementCommand) bool { return len(c.Entries) == 2 })
	for _, e := range command.Entries {
		if e.Withdrawn {
			require.Empty(t, e.Piece)
		} else {
			require.Equal(t, y.store.Keys.Piece("work-1"), e.Piece)
		}
	}
	former := y.keys["berlin"]
	y.enrol("berlin")
	_, before := y.awaits("berlin", func(c api.PlacementCommand) bool { return len(c.Entries) == 2 })
	y.keys["berlin"], former = former, y.keys["berlin"]
	_, _, err := y.command("berlin")
	require.Error(t, err, "the former key opens nothing any more")
	y.keys["berlin"] = former

	y.stop()
	y.run(dispatcher.Options{})
	y.release("web", entry("berlin", 1), entry("paris", 1))
	y.awaits("paris", holds(1))
	_, after, err := y.command("berlin")
	require.NoError(t, err)
	require.Equal(t, before.Sequence, after.Sequence)
}

// While it is not known to whom an index is to be sealed none is sent, least of all in clear; that is told once.
func TestNoIndexIsSentInClear(t *testing.T) {
	for name, identity := range map[string]any{"broken": json.RawMessage(`{"sealingKey": 7}`), "without a key": api.Identity{Name: "berlin"}} {
		t.Run(name, func(t *testing.T) {
			y := newYard(t)
			put(y, subjects.Identities, "berlin", identity)
			y.run(dispatcher.Options{})
			y.release("web", entry("berlin", 1), entry("paris", 1))
			y.awaits("paris", holds(1))
			_, _, err := y.command("berlin")
			require.ErrorIs(t, err, bus.ErrNotFound)
			if name == "without a key" {
				y.told("berlin", api.ReasonNoKey)
			}
			y.enrol("berlin")
			y.awaits("berlin", holds(1))
		})
	}
}
