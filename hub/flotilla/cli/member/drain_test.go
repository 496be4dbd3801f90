package member

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

func TestHowFarADrainIs(t *testing.T) {
	require.Equal(t, "0 leave, 0 wait, 0 stay", drainLine(&api.MemberDrain{}))
	require.Equal(t, "1 leaves, 1 waits, 1 stays; web: Eviction is blocked", drainLine(&api.MemberDrain{Leaving: 1, Waits: 1, Stays: 1, Placements: []api.DrainedPlacement{
		{Placement: "all", Stage: "Leaving"}, {Placement: "fixed", Stage: drainStays, Reason: "clusterNames"}, {Placement: "web", Stage: "Waits", Reason: "Eviction is blocked"},
	}}))
}
