package scheduler_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/hub/scheduler"
	"flotilla/subjects"
)

// overwrite writes a record whatever is there, readable or not; nil deletes it.
func (h *house) overwrite(t *testing.T, key string, value any) {
	t.Helper()
	bustest.Eventually(t, func() error {
		_, err := h.store.Writer.Write(bustest.Context(t), store.Op{Key: key, Value: value, Revision: h.store.State.Revision(key)})
		return err
	})
}

// unreadable is a record that no build can decode.
func unreadable(kind string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"kind":%q,"level":1,"uid":{},"name":7,"bindings":"x","entries":"x"}`, kind))
}

// TestWhatCannotBeReadIsNotGone breaks each record that a schedule depends on. While it is broken the
// schedule stays; once it is mended, what was meant happens. A new term starts on the broken record too.
func TestWhatCannotBeReadIsNotGone(t *testing.T) {
	for _, c := range []struct{ name, key, kind string }{
		{"placement", subjects.PlacementSpecs.Key("web"), api.KindSpec},
		{"member", subjects.MemberSpecs.Key("berlin"), api.KindSpec},
		{"record of a member", subjects.Members.Key("berlin"), api.KindMemberRecord},
		{"release", subjects.Releases.Key("web"), api.KindRelease},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := start(t, scheduler.Options{})
			h.join(t, "berlin", nil, nil)
			h.join(t, "oslo", nil, nil)
			h.place(t, "web", "u1", 1, withPolicy(pickN(1)))
			h.eventually(t, "web", "oslo")
			h.place(t, "web", "u1", 2, withPolicy(nil))
			h.eventually(t, "web", "berlin", "oslo")
			h.overwrite(t, subjects.Releases.Key("web"), &api.Release{Placement: "web"})
			mended, _, found := h.store.State.Raw(c.key)
			require.True(t, found)
			before := h.settled(t, "web")
			h.overwrite(t, c.key, unreadable(c.kind))
			require.Equal(t, before[0], h.settled(t, "web")[0])
			h.stop()
			h.run(t, scheduler.Options{})
			require.Equal(t, before[0], h.settled(t, "web")[0])

			h.overwrite(t, c.key, json.RawMessage(mended))
			h.overwrite(t, subjects.MemberSpecs.Key("berlin"), nil)
			h.eventually(t, "web", "oslo")
		})
	}
}

// TestABrokenScheduleStays cannot know who is bound, and moves nobody.
func TestABrokenScheduleStays(t *testing.T) {
	h := start(t, scheduler.Options{})
	h.join(t, "berlin", nil, nil)
	h.place(t, "web", "u1", 1, withPolicy(pickN(1)))
	h.eventually(t, "web", "berlin")
	h.settled(t, "web")
	key := h.schedules.Key("web")
	h.overwrite(t, key, unreadable(api.KindSchedule))
	broken := h.store.State.Revision(key)
	h.join(t, "oslo", nil, nil)
	h.settled(t, "web")
	require.Equal(t, broken, h.store.State.Revision(key))
}

// TestWhatTheBrokerLostIsWrittenAgain takes away what the scheduler wrote, as a broker that lost its
// last second would.
func TestWhatTheBrokerLostIsWrittenAgain(t *testing.T) {
	h := start(t, scheduler.Options{})
	h.join(t, "berlin", nil, nil)
	h.place(t, "web", "u1", 1, withPolicy(nil))
	first := h.eventually(t, "web", "berlin")
	h.settled(t, "web")
	h.overwrite(t, h.schedules.Key("web"), nil)
	h.eventually(t, "web", "berlin")
	older := first
	older.Bindings = nil
	h.overwrite(t, h.schedules.Key("web"), &older)
	h.eventually(t, "web", "berlin")

	h.overwrite(t, h.verdicts.Key("web"), nil)
	h.judged(t, "web", "berlin", "", "")
	h.overwrite(t, h.verdicts.Key("web"), unreadable(api.KindVerdicts))
	h.judged(t, "web", "berlin", "", "")
	before := h.settled(t, "web")
	require.Equal(t, before, h.settled(t, "web"), "deciding twice writes nothing")
}
