package enroller_test

import (
	"encoding/json"
	"testing"

	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/subjects"
)

// An index is read by the agent that it is sealed to and by nobody else; one that is not sealed, or not by the hub
// that made the agent's token, is refused, whoever stored it.
func TestAnIndexIsSealedToItsMember(t *testing.T) {
	h := start(t)
	h.admit("berlin")
	conn := h.enrolled(t.TempDir(), "berlin", h.token("berlin"))
	h.becomes(conn, api.AgentAdmitted)
	h.admit("paris")
	other := h.enrolled(t.TempDir(), "paris", h.token("paris"))
	to := h.record("berlin").SealingKey

	var last uint64
	command := api.PlacementCommand{Member: "berlin", Entries: []api.IndexEntry{{Placement: "web", Piece: api.Piece{Key: []byte("the key of a piece")}}}}
	publish := func(key string) {
		var err error
		head := streams.CommandHead{Member: "berlin", Kind: subjects.CommandPlacement, To: key}
		last, err = h.store.Commands.Publish(bustest.Context(t), head, command, last)
		require.NoError(t, err)
	}
	publish(to)
	body, _, err := conn.Command(t.Context(), subjects.CommandPlacement)
	require.NoError(t, err)
	var found api.PlacementCommand
	require.NoError(t, json.Unmarshal(body, &found))
	require.Equal(t, command, found)
	stored, _, err := h.store.Commands.Get(bustest.Context(t), "berlin", subjects.CommandPlacement)
	require.NoError(t, err)
	require.NotContains(t, string(stored), "web")

	refused := func(why string) {
		t.Helper()
		_, _, err := conn.Command(t.Context(), subjects.CommandPlacement)
		require.ErrorIs(t, err, bus.ErrNotOfHub, why)
		require.ErrorContains(t, err, "flotilla member enrol berlin")
	}
	publish("")
	refused("not sealed")
	publish(other.Wallet().SealingKey())
	refused("sealed to another member")
	stranger, err := nkeys.CreateCurveKeys()
	require.NoError(t, err)
	text, err := json.Marshal(command)
	require.NoError(t, err)
	forged, err := stranger.Seal(text, to)
	require.NoError(t, err)
	_, err = h.store.Conn.JS.Publish(bustest.Context(t), h.store.Conn.Fleet.Command("berlin", subjects.CommandPlacement), forged)
	require.NoError(t, err)
	refused("sealed by somebody else")
}
