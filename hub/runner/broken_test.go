package runner_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/hub/runner"
	"flotilla/subjects"
)

// A run whose spec, or whose member, cannot be read is neither removed nor given up.
func TestWhatCannotBeReadIsNotGone(t *testing.T) {
	for _, key := range []string{subjects.RunSpecs.Key("r1"), subjects.MemberSpecs.Key("berlin")} {
		h := newHarness(t, runner.Options{Poll: never}, "berlin")
		h.updateRun("r1", toNew(1))
		h.start("r1")
		h.eventually("r1", "Running: berlin Running")
		_, err := h.store.Writer.Write(bustest.Context(t), store.Put(key, json.RawMessage(`{"uid":{}}`), h.store.State.Revision(key)))
		require.NoError(t, err)
		h.updateRun("r2", toNew(1))
		h.eventually("r2", "NotStarted: berlin NotStarted")
		h.eventually("r1", "Running: berlin Running")
		h.held("uid-r1/berlin/1")
	}
}
