package told

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"flotilla/core/api"
)

// Reading is what came of taking news in.
type Reading struct {
	// Inventory says that one was among what came, Decoded that something was taken into the view.
	Inventory, Decoded bool
	// Unreadable is what was found not to be readable, each state once.
	Unreadable []Fault
}

// Fault is why what is told of a node, or of no name as the inventory, cannot be read.
type Fault struct {
	Node string
	Err  error
}

// readThose decodes what is held of some nodes into the view.
func (n *Nodes) readThose(r *Reading, of func(node string) bool) {
	for _, s := range n.unread(of) {
		n.read(r, s)
	}
}

// readCrowded decodes what the view had no room for, and has now.
func (n *Nodes) readCrowded(r *Reading) {
	if len(n.crowded) == 0 {
		return
	}
	n.weights.only(n.View.Cluster.Nodes)
	for _, node := range slices.Sorted(maps.Keys(n.crowded)) {
		if s := n.crowded[node]; n.weights.fit(node, s.weight) == nil {
			delete(n.crowded, node)
			n.read(r, s)
		}
	}
}

// read decodes what is held into the view, and reports whether that had something older.
func (n *Nodes) read(r *Reading, s *State) (news bool) {
	s.read, r.Decoded = true, true
	news, err := n.decode(s)
	if err != nil {
		if !s.warned {
			r.Unreadable = append(r.Unreadable, Fault{s.Node, err})
			s.warned = true
		}
		n.forget(s.Node)
		news = true
	}
	if news {
		n.Version++
	}
	return news
}

// forget has the view know nothing of a node.
func (n *Nodes) forget(node string) {
	n.View.Forget(node)
	n.weights.set(node, 0)
}

func (n *Nodes) decode(s *State) (news bool, err error) {
	body, err := s.Body.JSON()
	if err != nil {
		return false, err
	}
	weight, decode := weigh(body), n.decodeNode
	if s.Node == inventory {
		decode = n.decodeInventory
	}
	if err := n.weights.fit(s.Node, weight); err != nil {
		n.crowd(s, weight)
		return false, err
	}
	if news, err = decode(s, body); news {
		n.weights.set(s.Node, weight)
	}
	return news, err
}

// crowd has a state wait for room in the view.
func (n *Nodes) crowd(s *State, weight int64) {
	if n.crowded == nil {
		n.crowded = map[string]*State{}
	}
	s.weight = weight
	n.crowded[s.Node] = s
}

func (n *Nodes) decodeInventory(s *State, body []byte) (news bool, err error) {
	newest := &api.NodeInventory{}
	if err := json.Unmarshal(body, newest); err != nil {
		return false, err
	}
	if err := newest.CheckAmounts(); err != nil {
		return false, err
	}
	if news = n.View.Inventory(newest); news {
		n.heard, n.Listed = s.Heard, true
	}
	return news, nil
}

func (n *Nodes) decodeNode(s *State, body []byte) (news bool, err error) {
	event := &api.NodeEvent{}
	if err := json.Unmarshal(body, event); err != nil {
		return false, err
	}
	if event.Node.Name != s.Node {
		return false, fmt.Errorf("it names node %q", event.Node.Name)
	}
	if err := event.Node.CheckAmounts(); err != nil {
		return false, err
	}
	n.shared.node(&event.Node)
	return n.View.Event(event), nil
}
