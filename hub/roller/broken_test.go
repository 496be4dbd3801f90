package roller_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/subjects"
)

// unreadable is a record that no build can decode.
func unreadable(kind string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"kind":%q,"level":1,"uid":{},"step":"x","placement":7,"name":7}`, kind))
}

// TestWhatCannotBeReadIsNotGone breaks each record that a release depends on. While it is broken the
// release stays as it is; once it is mended, what was meant happens.
func TestWhatCannotBeReadIsNotGone(t *testing.T) {
	for _, c := range []struct{ name, key, kind string }{
		{"placement", subjects.PlacementSpecs.Key("web"), api.KindSpec},
		{"member", subjects.MemberSpecs.Key("berlin"), api.KindSpec},
		{"record of a member", subjects.Members.Key("berlin"), api.KindMemberRecord},
		{"schedule", subjects.Schedules.Key("web"), api.KindSchedule},
		{"snapshot", subjects.Snapshots.Key(subjects.SnapshotName("web", 2)), api.KindSnapshot},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := start(t, "berlin", "oslo")
			h.placement(t, "u1", `{}`, false)
			h.snapshot(t, "u1", 2) // alone: of two the first may be released while the second and the schedule arrive
			h.schedule(t, "u1", "berlin", "oslo")
			h.eventually(t, "berlin:2 oslo:2")
			mended, _, found := h.store.State.Raw(c.key)
			require.True(t, found)
			h.put(t, c.key, unreadable(c.kind))
			h.bystander(t)
			require.Equal(t, "berlin:2 oslo:2", text(h.release()))

			h.put(t, c.key, json.RawMessage(mended))
			h.placement(t, "u1", `{}`, true)
			h.eventually(t, "berlin:- oslo:-")
		})
	}
}

// TestWhatCannotBeReadAtTakeoverIsNotGone starts a roller on a placement it cannot read.
func TestWhatCannotBeReadAtTakeoverIsNotGone(t *testing.T) {
	h := start(t, "berlin")
	h.placement(t, "u1", `{}`, false)
	h.snapshot(t, "u1", 1)
	h.schedule(t, "u1", "berlin")
	h.eventually(t, "berlin:1")
	h.stop()
	h.put(t, subjects.PlacementSpecs.Key("web"), unreadable(api.KindSpec))
	h.run(t)
	h.bystander(t)
	require.Equal(t, "berlin:1", text(h.release()))
}

func (h *house) release() (api.Release, bool) {
	release, _, found := h.releases.Get("web")
	return release, found
}

// bystander releases other placements one after the other, more than there are workers: whatever was
// woken before them was looked at.
func (h *house) bystander(t *testing.T) {
	t.Helper()
	for i := range 12 {
		name := fmt.Sprintf("other-%d", i)
		h.put(t, subjects.PlacementSpecs.Key(name), api.Spec{
			Object: api.ObjectRef{Kind: api.KindClusterResourcePlacement, Name: name}, UID: "o", Generation: 1, Body: json.RawMessage(`{}`),
		})
		h.put(t, subjects.Snapshots.Key(subjects.SnapshotName(name, 1)), api.Snapshot{Placement: name, UID: "o", Index: 1, Work: "w"})
		h.put(t, subjects.Schedules.Key(name), api.Schedule{Placement: name, UID: "o", Generation: 1, Bindings: []api.Binding{{Member: "kyiv"}}})
		h.put(t, subjects.MemberSpecs.Key("kyiv"), memberSpec("kyiv", nil))
		bustest.Eventually(t, func() error {
			if release, _, found := h.releases.Get(name); !found || len(release.Entries) != 1 {
				return fmt.Errorf("%s is not released: %v", name, release)
			}
			return nil
		})
	}
}
