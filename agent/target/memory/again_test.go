package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A member that is made again under its name has other nodes: what was deleted has not come back.
func TestNodesOfAMemberMadeAgainAreOthers(t *testing.T) {
	clock := &manualClock{now: time.Unix(1, 0)}
	uid := func() string {
		found, err := New(Options{Name: "berlin", Clock: clock, Nodes: nodes("a")}).Survey(t.Context())
		require.NoError(t, err)
		return string(found.Nodes[0].UID)
	}
	before := uid()
	clock.Advance(time.Second)
	require.NotEqual(t, before, uid())
}
