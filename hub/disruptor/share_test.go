package disruptor

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
)

// A member that tells of more nodes than its share holds is purged back and named; the nodes of others are as
// they were, and it begins anew with what its agent tells next.
func TestAMemberBeyondItsShareIsPurgedAndNamed(t *testing.T) {
	y := newYard(t, Options{}, "berlin", "oslo")
	y.stop()
	y.store.Share = bus.Share{Events: 32 << 10}
	y.run()
	y.nodes("oslo", aNode("n1", "spot", 4))
	y.nodes("berlin", aNode("n1", "spot", 4))
	subject := func(i int) string { return y.store.Conn.Fleet.NodeEvent("berlin", fmt.Sprintf("fake%d", i)) }
	for i := range 40 {
		_, err := y.store.Conn.JS.Publish(bustest.Context(t), subject(i), make([]byte, 4<<10))
		require.NoError(t, err)
	}
	y.told("member/berlin", "ShareExceeded", "more nodes than its share of 32 KiB", "memberShare.events")
	bustest.Eventually(t, func() error {
		if use := y.room.Uses()["berlin"]; use.Bytes > 32<<10 || use.Refused == 0 {
			return fmt.Errorf("it takes %d bytes, %d refused", use.Bytes, use.Refused)
		}
		return nil
	})
	require.Equal(t, []string{"n1"}, y.room.feed.Nodes("oslo"))
	y.nodes("berlin", aNode("n2", "spot", 4))
	bustest.Eventually(t, func() error {
		if slices.Contains(y.room.feed.Nodes("berlin"), "n2") {
			return nil
		}
		return fmt.Errorf("there are %v", y.room.feed.Nodes("berlin"))
	})
}
