package told

import (
	"sync"
	"time"

	"flotilla/bus/watch"
)

// Arrival is something new about the nodes of a member, as it is stored: it is read by who decides, not by who
// delivers. Node is empty for the inventory.
type Arrival struct {
	Node string
	Body watch.Stored
	// Gone says that nothing is stored any more.
	Gone bool
	// Heard is when an inventory was stored, by the hub's clock.
	Heard time.Time
}

// inventory is the place of a member's inventory among the states of its nodes: no node has an empty name.
const inventory = ""

// inbox holds what came since it was taken last, in the order in which it came; of each node the newest alone.
type inbox struct {
	mu    sync.Mutex
	list  []Arrival
	place map[string]int // of the newest state of a node in list
}

// Push puts what arrived in.
func (in *inbox) Push(a Arrival) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.place == nil {
		in.place = map[string]int{}
	}
	if i, ok := in.place[a.Node]; ok {
		in.list[i] = Arrival{Node: a.Node}
	}
	in.place[a.Node] = len(in.list)
	in.list = append(in.list, a)
}

func (in *inbox) take() []Arrival {
	in.mu.Lock()
	defer in.mu.Unlock()
	var newest []Arrival
	for i, a := range in.list {
		if in.place[a.Node] == i {
			newest = append(newest, a)
		}
	}
	in.list, in.place = nil, nil
	return newest
}

// News says that something arrived that was not taken yet.
func (in *inbox) News() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.list) > 0
}
