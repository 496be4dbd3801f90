package object

import (
	"strings"
	"testing"

	"flotilla/hub/flotilla/cli/clitest"

	"github.com/stretchr/testify/require"
)

// A watch is woken by the verdict of a node and not by the seconds that its words count.
func TestWatchedNodesHoldStill(t *testing.T) {
	seen := map[string]string{}
	require.Len(t, changedSince(seen, clitest.ObjectsOf(t, clitest.CordonedNode)), 1)
	require.Empty(t, changedSince(seen, clitest.ObjectsOf(t, strings.Replace(clitest.CordonedNode, "it goes", "it goes in 5s", 1))))
	require.Len(t, changedSince(seen, clitest.ObjectsOf(t, strings.Replace(clitest.CordonedNode, "Queued", "Deleting", 1))), 1)
	require.Len(t, changedSince(seen, clitest.ObjectsOf(t, strings.Replace(clitest.CordonedNode, "member: berlin", "member: oslo", 1))), 1, "a node of another member is another one")
}
