package effort

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

// What one request writes costs no more than others can wait for (H44).
func TestWhatARequestWritesIsBounded(t *testing.T) {
	require.NoError(t, Written(mostWritten))
	failure := &api.Failure{}
	require.ErrorAs(t, Written(mostWritten.Plus(Cost{0, 1})), &failure)
	require.Equal(t, api.CodeTooLarge, failure.Code)
	require.Contains(t, failure.Message, "select more than 30000 objects in all")
	require.ErrorContains(t, Written(mostWritten.Plus(Cost{1, 0})), "look at objects more than 5000000 times")
}
