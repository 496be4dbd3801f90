package front

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Nobody keeps more watches than a hub bears, alone or with others.
func TestWatchesOfAPersonAndOfAllAreBounded(t *testing.T) {
	var c crowd
	leave, err := c.enter("anna")
	require.NoError(t, err)
	for range mostWatchesOfOne - 1 {
		_, err := c.enter("anna")
		require.NoError(t, err)
	}
	_, err = c.enter("anna")
	require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
	leave()
	_, err = c.enter("anna")
	require.NoError(t, err)
	for c.all < mostWatches {
		_, err := c.enter(string(rune('a' + c.all%26)))
		require.NoError(t, err)
	}
	_, err = c.enter("berta")
	require.True(t, apierrors.IsTooManyRequests(err), "%v", err)
}
