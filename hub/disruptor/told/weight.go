package told

import (
	"bytes"
	"fmt"

	"flotilla/core/api"
	"flotilla/core/cluster"
)

// perValue is what a value in JSON takes at most once it is decoded, in bytes: an empty object in a list becomes a whole struct.
const perValue = 128

// weigh is about how many bytes JSON takes once it is decoded, and seldom less than it does.
func weigh(text []byte) (weight int64) {
	weight = int64(len(text))
	for _, begins := range []string{"{", "[", ","} {
		weight += perValue * int64(bytes.Count(text, []byte(begins)))
	}
	return weight
}

// weights are those of what the view has of nodes, and of no name of the inventory.
type weights struct {
	of   map[string]int64
	all  int64
	most int64 // 0: as much as comes
}

// fit says why what is told of a node is not decoded: the view would take more than it may.
func (w *weights) fit(node string, weight int64) error {
	if all := w.all - w.of[node] + weight; w.most > 0 && all > w.most {
		return fmt.Errorf("what is told of the nodes of the member would take %s in memory, expected at most %s: fewer nodes and pods, or more for every member, memberShare.events of the hub",
			api.Size(all), api.Size(w.most))
	}
	return nil
}

// set notes what the view has of a node, 0 for nothing.
func (w *weights) set(node string, weight int64) {
	w.all += weight - w.of[node]
	if weight == 0 {
		delete(w.of, node)
		return
	}
	if w.of == nil {
		w.of = map[string]int64{}
	}
	w.of[node] = weight
}

// only notes that the view has nothing of nodes that are not among these: an inventory takes away those that it does not name.
func (w *weights) only(nodes map[string]*cluster.Node) {
	for node := range w.of {
		if nodes[node] == nil && node != inventory {
			w.set(node, 0)
		}
	}
}

// clear notes that the view has nothing.
func (w *weights) clear() { w.of, w.all = nil, 0 }
