package disruption

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/simulate"
	"flotilla/core/simulate/simulatetest"
)

// Pods that ask for the same as one that found no place are not compared with every node once more; those that ask for
// anything else are.
func TestPodsThatAskTheSameAreComparedOnce(t *testing.T) {
	spent := func(different bool) int {
		s := benchState(500, false)
		for i := range 200 {
			p := simulatetest.Pod(fmt.Sprint("waits", i), 100, func(p *api.PodState) { p.NodeSelector = map[string]string{"label": "x"} })
			if different {
				p.Requests["cpu"] += int64(i)
			}
			s.Cluster.Pending = append(s.Cluster.Pending, s.Cluster.NewPod(&p))
		}
		x := simulate.NewIndex(s)
		before := x.Spent()
		x.Simulate(x.Nodes[:1], false)
		return int(x.Spent() - before)
	}
	require.Less(t, 10*spent(false), spent(true))
}

// What found no room finds it on a node that is put back for another pod.
func TestRoomThatIsPutBackIsFound(t *testing.T) {
	for _, pods := range []int{1, 2, 3} {
		f := simulatetest.Member{Pools: []*api.NodePool{simulatetest.Pool("a")}}
		for i := range 150 { // more than are tried one by one
			f.Nodes = append(f.Nodes, simulatetest.Node(fmt.Sprintf("n%03d", i), "d4", "z-a", "a"))
		}
		for i := range pods {
			f.Pending = append(f.Pending, simulatetest.Pod(fmt.Sprint("waits", i), 1000))
		}
		x := simulate.NewIndex(f.State())
		require.Len(t, x.Needed(x.Nodes), 1, "%d pods fit on one node", pods)
	}
}
