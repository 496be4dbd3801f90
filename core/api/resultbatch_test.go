package api

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A result that is shortened keeps its answers and counts, loses its lists and the ends of its messages,
// says so, and cannot be shortened twice.
func TestShortenedResultKeepsItsAnswer(t *testing.T) {
	long := PlacementResult{
		Header: NewHeader(KindPlacementResult), Placement: "web", UID: "u", Applied: "False", AppliedReason: "NotAllWorkHaveBeenApplied",
		AppliedMessage: strings.Repeat("ä", 300), Total: 90, Failed: 80, Failures: make([]ManifestFailure, 80),
		Corrected: make([]Correction, 3), CorrectedTotal: 7,
	}
	text, err := json.Marshal(long)
	require.NoError(t, err)
	one := BatchedResult{Kind: "placement", Name: "web", Result: text}
	require.True(t, one.Shorten())
	require.Less(t, len(one.Result), 600)
	var got PlacementResult
	require.NoError(t, json.Unmarshal(one.Result, &got))
	require.Equal(t, strings.Repeat("ä", 64)+"..."+shortened, got.AppliedMessage)
	require.Empty(t, got.Failures)
	require.Equal(t, [...]any{"u", "False", 90, 80, 7}, [...]any{got.UID, got.Applied, got.Total, got.Failed, got.CorrectedTotal})
	require.False(t, one.Shorten())

	for kind, value := range map[string]any{
		"upgrade":    UpgradeResult{Run: "r", Outcome: OutcomeFailed, Message: strings.Repeat("x", 4000), Pools: []string{"a"}},
		"disruption": DisruptionResult{ID: "d", Phase: PhaseDone, Message: "m", Gone: make([]string, 500)},
	} {
		text, err := json.Marshal(value)
		require.NoError(t, err)
		one := BatchedResult{Kind: kind, Result: text}
		require.True(t, one.Shorten(), kind)
		require.Contains(t, string(one.Result), "its share holds", kind)
	}
	require.False(t, (&BatchedResult{Kind: "placement", Result: []byte(`"poison"`)}).Shorten())
}
