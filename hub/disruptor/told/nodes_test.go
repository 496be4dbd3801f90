package told

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/bus/watch"
	"flotilla/core/api"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// states are what an agent may have told of two nodes, from one start of it after the other, and at last its inventory.
func states(t *testing.T, r *rand.Rand) []Arrival {
	t.Helper()
	stored := func(node string, v any) Arrival {
		body, err := json.Marshal(v)
		require.NoError(t, err)
		return Arrival{Node: node, Body: watch.NewStored(body, bus.NodeBounds, 1), Heard: noon}
	}
	sequence := func() uint64 { return 1 + r.Uint64N(4) }
	var all []Arrival
	boot, of := "a", 1+r.IntN(8)
	for i := range of {
		if i == of/2 {
			boot = "b"
		}
		e := api.NodeEvent{Boot: boot, Sequence: sequence(), At: metav1.NewTime(noon), Node: api.NodeState{Name: fmt.Sprint("n", r.IntN(2))}}
		e.Node.Pods = make([]api.PodState, e.Sequence)
		if r.IntN(6) == 0 {
			all = append(all, Arrival{Node: e.Node.Name, Gone: true})
		} else {
			all = append(all, stored(e.Node.Name, e))
		}
	}
	return append(all, stored(inventory, api.NodeInventory{Boot: boot, Sequence: sequence(), At: metav1.NewTime(noon), Nodes: map[string]uint64{"n0": sequence()}}))
}

// seen is all that a view says of nodes.
func seen(n *Nodes) string {
	text := n.Stale(noon, time.Hour) + n.Skewed() + fmt.Sprint(n.View.Unconfirmed([]string{"n0", "n1"}), n.View.Unlisted([]string{"n0", "n1"}))
	for _, name := range n.View.Cluster.Names() {
		node, _ := n.View.Cluster.Node(name)
		text += fmt.Sprintf("; %s with %d pods", name, len(node.Pods))
	}
	return text
}

// What comes late, twice or not at all means the same whether it is decoded as it comes, when somebody asks
// for it, or anew after the view was laid down.
func TestWhenItIsDecodedDoesNotMatter(t *testing.T) {
	laid := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		atOnce, asked, again := Of(&Interner{}, 0), Of(&Interner{}, 0), Of(&Interner{}, 0)
		for _, a := range states(t, r) {
			for _, n := range []*Nodes{&atOnce, &asked, &again} {
				n.Push(a)
				n.Lift()
			}
			atOnce.Fold()
			if again.Fold(); again.Lay() {
				require.Empty(t, again.View.Cluster.Nodes)
				laid++
			}
		}
		asked.Fold()
		again.Fold()
		require.Equal(t, seen(&atOnce), seen(&asked), "seed %d", seed)
		require.Equal(t, seen(&atOnce), seen(&again), "seed %d", seed)
	}
	require.Greater(t, laid, 300, "views were laid down")
}
