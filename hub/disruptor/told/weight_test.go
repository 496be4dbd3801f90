package told

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/watch"
)

// of is the state of a node with so many empty pods, of which a thousand take a few bytes stored.
func of(t *testing.T, node string, sequence, pods int) Arrival {
	t.Helper()
	text := fmt.Sprintf(`{"boot":"b","sequence":%d,"node":{"name":%q,"pods":[%s]}}`, sequence, node, strings.TrimSuffix(strings.Repeat("{},", pods), ","))
	stored, err := bus.NodeBounds.Pack([]byte(text))
	require.NoError(t, err)
	return Arrival{Node: node, Body: watch.NewStored(stored, bus.NodeBounds, 1)}
}

// What a view has takes no more than it may, whatever comes, goes and is laid down.
func TestWhatIsDecodedIsBounded(t *testing.T) {
	n := Of(&Interner{}, 600_000) // of 250,000 to 260,000 for a thousand pods
	fold := func(all ...Arrival) (unreadable []string) {
		for _, a := range all {
			n.Push(a)
		}
		for _, fault := range n.Fold().Unreadable {
			require.ErrorContains(t, fault.Err, "KiB in memory, expected at most 586 KiB: fewer nodes and pods, or more for every member, memberShare.events of the hub")
			unreadable = append(unreadable, fault.Node)
		}
		return unreadable
	}
	require.Equal(t, []string{"c"}, fold(of(t, "a", 1, 1000), of(t, "b", 1, 1000), of(t, "c", 1, 1000), of(t, "d", 1, 10)))
	require.Equal(t, []string{"a", "b", "d"}, n.View.Cluster.Names())
	require.Empty(t, fold(of(t, "a", 2, 1000)), "in the place of the one before")
	require.Equal(t, []string{"c"}, fold(of(t, "c", 2, 1000)))
	require.Empty(t, fold(Arrival{Node: "a", Gone: true}, of(t, "c", 3, 1000)))
	require.Equal(t, []string{"b", "c", "d"}, n.View.Cluster.Names())
	require.Equal(t, []string{"d"}, fold(of(t, "c", 4, 900), of(t, "d", 2, 600)))
	require.Equal(t, []string{"b", "c"}, n.View.Cluster.Names(), "what was known of it is forgotten")

	require.True(t, n.Lay())
	require.Zero(t, n.weights.all)
	require.Empty(t, fold(of(t, "b", 3, 10)), "all is read again, and now there is room")
	require.Equal(t, []string{"b", "c", "d"}, n.View.Cluster.Names())
	for _, node := range []string{"b", "c", "d"} {
		require.Empty(t, fold(Arrival{Node: node, Gone: true}))
	}
	require.Empty(t, n.weights.of)
	require.Zero(t, n.weights.all)
}
