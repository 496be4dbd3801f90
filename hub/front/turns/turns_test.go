package turns

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Nobody keeps more watches than a hub bears, alone or with others.
func TestWatchesOfAPersonAndOfAllAreBounded(t *testing.T) {
	c := newTurns("watches", mostWatchesOfOne, mostWatches)
	leave, err := c.Enter("anna")
	require.NoError(t, err)
	for range mostWatchesOfOne - 1 {
		_, err := c.Enter("anna")
		require.NoError(t, err)
	}
	_, err = c.Enter("anna")
	require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
	leave()
	_, err = c.Enter("anna")
	require.NoError(t, err)
	for c.all < mostWatches {
		_, err := c.Enter(string(rune('a' + c.all%26)))
		require.NoError(t, err)
	}
	_, err = c.Enter("berta")
	require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
}
