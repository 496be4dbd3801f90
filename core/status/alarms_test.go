package status

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// An agent may count corrected objects and name none of them.
func TestCorrectedObjectsWithoutNames(t *testing.T) {
	require.Equal(t, "1 object was changed on the member and written over", correctedText(&api.PlacementResult{CorrectedTotal: 1}))
	require.Equal(t, "2 objects were changed on the member and written over", correctedText(&api.PlacementResult{CorrectedTotal: 2}))
}
