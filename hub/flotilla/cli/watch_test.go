package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A watch is woken by the verdict of a node and not by the seconds that its words count.
func TestWatchedNodesHoldStill(t *testing.T) {
	seen := map[string]string{}
	require.Len(t, changedSince(seen, objectsOf(t, cordonedNode)), 1)
	require.Empty(t, changedSince(seen, objectsOf(t, strings.Replace(cordonedNode, "it goes", "it goes in 5s", 1))))
	require.Len(t, changedSince(seen, objectsOf(t, strings.Replace(cordonedNode, "Queued", "Deleting", 1))), 1)
	require.Len(t, changedSince(seen, objectsOf(t, strings.Replace(cordonedNode, "member: berlin", "member: oslo", 1))), 1, "a node of another member is another one")
}
