package reporter_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/reporter"
	"flotilla/subjects"
)

var unreadable = json.RawMessage(`{"kind":"Spec","level":1,"uid":{},"name":7,"entries":"x","conditions":7}`)

// TestWhatCannotBeReadIsNotGone breaks records around a placement: its status and the results of its
// members stay, until the record that says that it is gone is gone.
func TestWhatCannotBeReadIsNotGone(t *testing.T) {
	h := start(t, reporter.Options{Sweep: 200 * time.Millisecond}, "berlin", "rome")
	h.place(t, "berlin")
	h.answer(t, "berlin", subjects.CommandPlacement, "web", available)
	h.last(t, "ResourceAvailable")
	for _, key := range []string{subjects.PlacementSpecs.Key("web"), subjects.MemberSpecs.Key("berlin"), subjects.Releases.Key("web")} {
		h.put(t, key, unreadable)
	}
	h.looked(t, 2) // it is tried again
	h.answer(t, "berlin", subjects.CommandPlacement, "web", func(r *api.PlacementResult) { r.Applied, r.Available = "False", "" })
	h.looked(t, 2)
	kept := subjects.ResultKey("berlin", subjects.CommandPlacement, "web")
	h.put(t, subjects.MemberSpecs.Key("rome"), nil)
	for _, name := range []string{"a", "b", "c"} { // each goes once two sweeps found it
		h.answer(t, "rome", subjects.CommandPlacement, name, available)
		h.keys(t, kept, subjects.ResultKey("rome", subjects.CommandPlacement, name))
		h.keys(t, kept)
	}
	h.last(t, "ResourceAvailable")

	h.put(t, subjects.PlacementSpecs.Key("web"), nil)
	bustest.Eventually(t, func() error {
		if st, _, found := h.statuses.Get("web"); found {
			return fmt.Errorf("still there: %+v", st)
		}
		return nil
	})
}

// TestABrokenStatusIsWrittenOver makes all of it anew.
func TestABrokenStatusIsWrittenOver(t *testing.T) {
	h := start(t, reporter.Options{}, "berlin")
	h.place(t, "berlin")
	h.answer(t, "berlin", subjects.CommandPlacement, "web", available)
	h.last(t, "ResourceAvailable")
	h.put(t, subjects.Statuses.Key("web"), unreadable)
	h.last(t, "ResourceAvailable")
	st, _, found := h.statuses.Get("web")
	require.True(t, found)
	require.Equal(t, api.KindPlacementStatus, st.Kind)

	h.put(t, subjects.Statuses.Key("web"), nil) // as when a broker loses what it acknowledged
	require.Equal(t, 1, h.last(t, "ResourceAvailable").Counts.Available)
}
