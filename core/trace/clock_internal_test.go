package trace

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// What an agent states of its times is no time that nobody can read.
func TestTimesOfAnAgentAreOfYearsOfFourDigits(t *testing.T) {
	longest := int64(mostSpan)
	s, ok := statedIn(&api.PlacementResult{Times: &api.ResultTimes{Received: mostMillis, Applied: &longest}})
	require.True(t, ok)
	require.Equal(t, 9999, s.applied.UTC().Year())
	for name, times := range map[string]api.ResultTimes{
		"a later time":  {Received: mostMillis + 1},
		"a longer span": {Received: 1, Applied: new(longest + 1)},
		"a span before": {Received: 1, Available: new(-longest - 1)},
	} {
		_, ok := statedIn(&api.PlacementResult{Times: &times})
		require.False(t, ok, name)
	}
}
