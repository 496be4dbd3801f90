package registrar_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/liveness"
)

var unreadable = json.RawMessage(`{"kind":"Spec","level":1,"uid":{},"name":7}`)

// TestWhatCannotBeReadIsNotGone breaks the spec of a member: its record stays as it was. A record that
// is broken is made anew of the next heartbeat, and not of nothing.
func TestWhatCannotBeReadIsNotGone(t *testing.T) {
	h := start(t, liveness.Thresholds{})
	h.admit(t, "berlin", asItIs)
	agent := h.server.Agent(t, "berlin")
	beat(t, agent, func(b *api.Heartbeat) { b.Sequence = 1 })
	h.eventually(t, "berlin", api.MemberReady)
	h.overwrite(t, h.specs.Key("berlin"), unreadable)
	beat(t, agent, func(b *api.Heartbeat) { b.Sequence = 2 })
	h.seen(t, "berlin", 2)
	h.admit(t, "oslo", asItIs)
	h.eventually(t, "oslo", api.MemberJoining)
	record, _, found := h.records.Get("berlin")
	require.True(t, found)
	require.Equal(t, "u1", record.UID, "a member whose spec cannot be read is admitted still")

	h.overwrite(t, h.records.Key("oslo"), unreadable)
	broken := h.store.State.Revision(h.records.Key("oslo"))
	h.admit(t, "paris", asItIs)
	h.eventually(t, "paris", api.MemberJoining)
	require.Equal(t, broken, h.store.State.Revision(h.records.Key("oslo")))
	beat(t, h.server.Agent(t, "oslo"), nil)
	h.eventually(t, "oslo", api.MemberReady)
}

// overwrite writes a record whatever is there, readable or not.
func (h *house) overwrite(t *testing.T, key string, value any) {
	t.Helper()
	bustest.Eventually(t, func() error {
		if _, err := h.store.Writer.Write(bustest.Context(t), store.Put(key, value, h.store.State.Revision(key))); err != nil {
			return fmt.Errorf("writing %s: %w", key, err)
		}
		return nil
	})
}
