package object

import (
	"testing"

	"flotilla/hub/flotilla/cli/resource"

	"github.com/stretchr/testify/require"
)

// Whoever looks for a run where there are none of upgrades is told where the others are: `flotilla run` knows both.
func TestWhatIsNotFound(t *testing.T) {
	for words, want := range map[string]string{
		"members": "no memberclusters found",
		"runs":    "no updateruns found; runs that bring content: flotilla get csur, and sur -A",
	} {
		target, err := resource.ParseTarget([]string{words}, "")
		require.NoError(t, err)
		require.Equal(t, want, nothingFound(target))
	}
}
