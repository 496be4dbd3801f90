package told

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/bus/watch"
	"flotilla/core/api"
)

// of is the state of a node with so many empty pods, of which a thousand take a few bytes stored.
func of(t *testing.T, node string, sequence, pods int) Arrival {
	t.Helper()
	text := fmt.Sprintf(`{"boot":"b","sequence":%d,"node":{"name":%q,"pods":[%s]}}`, sequence, node, strings.TrimSuffix(strings.Repeat("{},", pods), ","))
	stored, err := bus.NodeBounds.Pack([]byte(text))
	require.NoError(t, err)
	return Arrival{Node: node, Body: watch.NewStored(stored, bus.NodeBounds, 1)}
}

// nodes is an inventory of some.
func nodes(t *testing.T, sequence uint64, names ...string) Arrival {
	t.Helper()
	i := api.NodeInventory{Boot: "b", Sequence: sequence, At: metav1.NewTime(noon), Nodes: map[string]uint64{}}
	for _, name := range names {
		i.Nodes[name] = 1
	}
	text, err := json.Marshal(i)
	require.NoError(t, err)
	return Arrival{Node: inventory, Body: watch.NewStored(text, bus.InventoryBounds, 1), Heard: noon}
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
	n.States = nil // nobody lays the view down
	require.Empty(t, fold(Arrival{Node: "a", Gone: true}))
	require.Equal(t, []string{"b", "c", "d"}, n.View.Cluster.Names(), "there is room now")
	require.Empty(t, n.crowded)
	require.Equal(t, []string{"d"}, fold(of(t, "c", 4, 900), of(t, "d", 2, 600)))
	require.Equal(t, []string{"b", "c"}, n.View.Cluster.Names(), "what was known of it is forgotten")
	require.Empty(t, fold(Arrival{Node: "d", Gone: true}), "what is stored no more is not read")
	require.Empty(t, n.crowded)
	require.Equal(t, []string{"d"}, fold(of(t, "b", 3, 1000), of(t, "d", 3, 600)))
	n.States = nil
	require.Empty(t, fold(nodes(t, 1, "c", "d")), "b left")
	require.Equal(t, []string{"c", "d"}, n.View.Cluster.Names())
	n.States = map[string]*State{}
	require.Equal(t, []string{"e"}, fold(of(t, "c", 5, 900), of(t, "d", 4, 600), of(t, "e", 1, 1000), nodes(t, 2, "c", "d", "e")))

	require.True(t, n.Lay())
	require.Zero(t, n.weights.all)
	require.Empty(t, fold(of(t, "b", 3, 10)), "all is read again, and now there is room")
	require.Equal(t, []string{"b", "c", "d"}, n.View.Cluster.Names())
	for _, node := range []string{"b", "c", "d", "e", inventory} {
		require.Empty(t, fold(Arrival{Node: node, Gone: true}))
	}
	require.Empty(t, n.weights.of)
	require.Zero(t, n.weights.all)
}
