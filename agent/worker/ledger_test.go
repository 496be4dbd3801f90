package worker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/tests/elsewhen"
)

// A result that could not be saved is saved with the next look at its placement, though nothing changed since; one
// that is on disk is not written again.
func TestAResultThatCouldNotBeSavedIsSavedLater(t *testing.T) {
	bustest.OnSmallDisk(t, func(t *testing.T, full *bustest.Disk) {
		s := open(t, full.Dir, "berlin")
		l := loadLedger(s, bustest.Start(t).Agent(t, "berlin"))
		full.Fill()
		result := api.PlacementResult{Placement: "web", UID: "u", Applied: "True"}
		require.Error(t, l.put(result, arrival{}, elsewhen.Now()))
		require.Error(t, l.put(result, arrival{}, elsewhen.Now()), "it is still in the way")

		full.Free()
		require.NoError(t, l.put(result, arrival{}, elsewhen.Now().Add(time.Hour)))
		require.Equal(t, "True", s.loadResults()["web"].Applied)

		require.NoError(t, s.forgetResult("web"))
		require.NoError(t, l.put(result, arrival{}, elsewhen.Now()))
		require.Empty(t, s.loadResults(), "it was on the disk")
	})
}
