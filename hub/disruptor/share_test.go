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
	h := newHarness(t, Options{}, "berlin", "oslo")
	h.stop()
	h.store.Layout.Options.Share = bus.Share{Events: 32 << 10}
	h.run()
	h.nodes("oslo", aNode("n1", "spot", 4))
	h.nodes("berlin", aNode("n1", "spot", 4))
	subject := func(i int) string { return h.store.Conn.Fleet.NodeEvent("berlin", fmt.Sprintf("fake%d", i)) }
	for i := range 40 {
		_, err := h.store.Conn.JS.Publish(bustest.Context(t), subject(i), make([]byte, 4<<10))
		require.NoError(t, err)
	}
	h.told("member/berlin", "ShareExceeded", "more nodes than its share of 32 KiB", "memberShare.events")
	bustest.Eventually(t, func() error {
		if use := h.room.Uses()["berlin"]; use.Bytes > 32<<10 || use.Refused == 0 {
			return fmt.Errorf("it takes %d bytes, %d refused", use.Bytes, use.Refused)
		}
		return nil
	})
	require.Equal(t, []string{"n1"}, h.room.feed.Nodes("oslo"))
	h.nodes("berlin", aNode("n2", "spot", 4))
	bustest.Eventually(t, func() error {
		if slices.Contains(h.room.feed.Nodes("berlin"), "n2") {
			return nil
		}
		return fmt.Errorf("there are %v", h.room.feed.Nodes("berlin"))
	})
}

// Nodes that are not there, told of by whoever has the member's credentials, hold the room of those that are for a
// few minutes, and not until the next inventory, nor past it.
func TestNodesThatNoInventoryNamesMakeRoom(t *testing.T) {
	h := newHarness(t, Options{}, "berlin")
	h.stop()
	h.store.Layout.Options.Share = bus.Share{Events: 32 << 10}
	h.run()
	h.nodes("berlin", aNode("n1", "spot", 4))
	for i := range 20 {
		fake := aNode(fmt.Sprintf("fake%d", i), "spot", 4)
		fake.Labels["filler"] = strings.Repeat("x", 2<<10)
		h.tell("berlin", api.NodeEvent{Boot: h.boot("berlin").name, Sequence: 1, At: metav1.NewTime(h.clock.Now().Add(time.Hour)), Node: fake})
	}
	nodes := func(there func([]string) bool) {
		t.Helper()
		bustest.Eventually(t, func() error {
			h.event("berlin", aNode("n2", "spot", 4))
			if found := h.room.feed.Nodes("berlin"); !there(found) {
				return fmt.Errorf("there are %v, suspects %d", found, h.suspects("berlin"))
			}
			return nil
		})
	}
	nodes(func([]string) bool { return h.suspects("berlin") > 5 })
	h.clock.forward(unconfirmedFor)
	nodes(func(found []string) bool { return slices.Equal(found, []string{"n1", "n2"}) })
}

// suspects counts those of a member.
func (h *harness) suspects(member string) int {
	m := h.room.roster.get(member)
	hold(h.t, m.deciding)
	defer m.deciding.Leave()
	return len(m.excess.suspects)
}
