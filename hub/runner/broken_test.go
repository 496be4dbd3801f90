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
		y := newYard(t, runner.Options{Poll: never}, "berlin")
		y.updateRun("r1", toNew(1))
		y.start("r1")
		y.eventually("r1", "Running: berlin Running")
		_, err := y.store.Writer.Write(bustest.Context(t), store.Put(key, json.RawMessage(`{"uid":{}}`), y.store.State.Revision(key)))
		require.NoError(t, err)
		y.updateRun("r2", toNew(1))
		y.eventually("r2", "NotStarted: berlin NotStarted")
		y.eventually("r1", "Running: berlin Running")
		y.held("uid-r1/berlin/1")
	}
}
