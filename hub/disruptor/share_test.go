package disruptor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
)

// A member that tells of more nodes than its share holds is purged back and named; the nodes of others are as
// they were, and it begins anew with what its agent tells next.
func TestAMemberBeyondItsShareIsPurgedAndNamed(t *testing.T) {
	y := newYard(t, Options{}, "berlin", "oslo")
	y.stop()
	y.store.Layout.Options.Share = bus.Share{Events: 32 << 10}
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

// Nodes that are not there, told of by whoever has the member's credentials, hold the room of those that are for a
// few minutes, and not until the next inventory, nor past it.
func TestNodesThatNoInventoryNamesMakeRoom(t *testing.T) {
	y := newYard(t, Options{}, "berlin")
	y.stop()
	y.store.Layout.Options.Share = bus.Share{Events: 32 << 10}
	y.run()
	y.nodes("berlin", aNode("n1", "spot", 4))
	for i := range 20 {
		fake := aNode(fmt.Sprintf("fake%d", i), "spot", 4)
		fake.Labels["filler"] = strings.Repeat("x", 2<<10)
		y.tell("berlin", api.NodeEvent{Boot: y.boot("berlin").name, Sequence: 1, At: metav1.NewTime(y.clock.Now().Add(time.Hour)), Node: fake})
	}
	nodes := func(there func([]string) bool) {
		t.Helper()
		bustest.Eventually(t, func() error {
			y.event("berlin", aNode("n2", "spot", 4))
			if found := y.room.feed.Nodes("berlin"); !there(found) {
				return fmt.Errorf("there are %v, suspects %d", found, y.suspects("berlin"))
			}
			return nil
		})
	}
	nodes(func([]string) bool { return y.suspects("berlin") > 5 })
	y.clock.forward(unconfirmedFor)
	nodes(func(found []string) bool { return slices.Equal(found, []string{"n1", "n2"}) })
}

// suspects counts those of a member.
func (y *yard) suspects(member string) int {
	m := y.room.roster.get(member)
	m.deciding.Lock()
	defer m.deciding.Unlock()
	return len(m.suspects)
}
