package bus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"flotilla/subjects"
)

// NodeSink takes in what a NodeFeed delivers. Its functions are called one at a time and in the order of
// the stream; they must neither block nor purge. Bodies are unpacked JSON, and the sink's own.
type NodeSink interface {
	// Node is the newest state of a node, an api.NodeEvent, and when it was stored, by the connection's clock.
	Node(member, node string, body []byte, stored time.Time)
	// NodeGone says that nothing is stored of a node any more. That the node left the member is said by an
	// event of its own.
	NodeGone(member, node string)
	// Unreadable says that what is stored of a node, or as inventory where node is empty, is beyond its bounds
	// or cannot be unpacked.
	Unreadable(member, node string, err error)
	// Inventory is the newest api.NodeInventory of a member and how long ago the broker stored it; body is
	// nil when nothing is stored any more.
	Inventory(member string, body []byte, age time.Duration)
	// Listed says that the sink has all that was stored when the connection last came up, or when it was
	// last made sure of, hourly.
	Listed()
}

// inventoryMark is the place of a member's inventory among the marks of its nodes: no node has an empty
// name.
const inventoryMark = ""

var errMarker = errors.New("found a marker of deletion, which no agent of ours writes")

// nodeMark is what the feed keeps of a subject: no body.
type nodeMark struct {
	sequence uint64
	round    uint64 // of the last listing that had it
	// purged marks stay for the rest of the listing: what is still on its way must not bring them back.
	purged bool
}

// NodeFeed follows the nodes and the inventories of nodes of all members. It keeps no bodies: what it
// knows of a subject is that it exists.
type NodeFeed struct {
	conn *Conn
	sink NodeSink
	feed *feed

	mu sync.RWMutex // guards what follows; never held while the sink is called
	passes
	marks map[string]map[string]nodeMark // by member and node
}

// NewNodeFeed returns a feed of the connection's fleet; Run fills the sink.
func NewNodeFeed(c *Conn, s NodeSink) *NodeFeed {
	n := &NodeFeed{conn: c, sink: s, passes: newPasses(), marks: map[string]map[string]nodeMark{}}
	n.feed = newFeed(c, source{
		name: subjects.Events, stream: c.Fleet.Stream(subjects.Events),
		filters: []string{c.Fleet.AllNodeEvents("*"), c.Fleet.NodeInventory("*")},
		key:     func(subject string) (string, bool) { return subject, true },
	}, n)
	return n
}

// Run follows until ctx ends: it lists anew after each reconnect, gap and dropped message, and hourly.
func (n *NodeFeed) Run(ctx context.Context) { n.feed.run(ctx) }

// Synced says that the sink has everything since the last (re)connect.
func (n *NodeFeed) Synced() bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.synced
}

// WaitSynced returns when Synced and the sink was told, or with ctx's error.
func (n *NodeFeed) WaitSynced(ctx context.Context) error { return n.waitWhole(ctx, n.mu.RLocker()) }

// Members lists the members of which anything is stored, sorted.
func (n *NodeFeed) Members() []string {
	n.mu.RLock()
	defer n.mu.RUnlock()
	var members []string
	for member, marks := range n.marks {
		for _, m := range marks {
			if !m.purged {
				members = append(members, member)
				break
			}
		}
	}
	slices.Sort(members)
	return members
}

// Nodes lists the nodes of a member of which a state is stored, those that left included, sorted.
func (n *NodeFeed) Nodes(member string) []string {
	n.mu.RLock()
	defer n.mu.RUnlock()
	nodes := make([]string, 0, len(n.marks[member]))
	for node, m := range n.marks[member] {
		if node != inventoryMark && !m.purged {
			nodes = append(nodes, node)
		}
	}
	slices.Sort(nodes)
	return nodes
}

func (n *NodeFeed) begin() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.next()
}

func (n *NodeFeed) opened(l listing) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.against(l) {
		return
	}
	for _, marks := range n.marks {
		for node, m := range marks {
			m.sequence = 0
			marks[node] = m
		}
	}
}

func (n *NodeFeed) message(m message) {
	member, node, ok := n.conn.Fleet.ParseNodeEvent(m.key)
	if !ok {
		node = inventoryMark
		member, ok = n.conn.Fleet.ParseNodeInventory(m.key)
	}
	if !ok || !n.note(member, node, m.sequence) {
		return
	}
	within := nodeBounds
	if node == inventoryMark {
		within = inventoryBounds
	}
	body, err := within.unpack(m.value)
	if m.value == nil {
		err = errMarker
	}
	switch {
	case err != nil:
		n.sink.Unreadable(member, node, fmt.Errorf("message %d, %d bytes: %w", m.sequence, len(m.value), err))
	case node == inventoryMark:
		n.sink.Inventory(member, body, n.age(m))
	default:
		n.sink.Node(member, node, body, n.conn.ours(m.stored))
	}
}

// age of a message that is being delivered.
func (n *NodeFeed) age(m message) time.Duration {
	if !m.replayed {
		return 0
	}
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.current.age(m.stored, time.Now())
}

// note marks a subject as stored and says whether the message is newer than what was delivered of it.
func (n *NodeFeed) note(member, node string, sequence uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	marks := n.marks[member]
	if marks == nil {
		marks = map[string]nodeMark{}
		n.marks[member] = marks
	}
	old := marks[node]
	if sequence <= old.sequence {
		if !old.purged {
			old.round = n.round
			marks[node] = old
		}
		return false
	}
	marks[node] = nodeMark{sequence: sequence, round: n.round}
	n.newest = max(n.newest, sequence)
	return true
}

func (n *NodeFeed) listed() {
	n.mu.Lock()
	gone := n.sweep()
	n.end()
	whole := n.synced
	n.mu.Unlock()
	for _, member := range slices.Sorted(maps.Keys(gone)) {
		n.report(member, gone[member])
	}
	if whole {
		n.sink.Listed()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tell()
}

// sweep forgets what the listing did not have, and returns what of that was there before, by member.
func (n *NodeFeed) sweep() map[string][]string {
	gone := map[string][]string{}
	for member, marks := range n.marks {
		for node, m := range marks {
			if m.round == n.round {
				continue
			}
			delete(marks, node)
			if !m.purged {
				gone[member] = append(gone[member], node)
			}
		}
		if len(marks) == 0 {
			delete(n.marks, member)
		}
	}
	return gone
}

// report tells the sink of what there is nothing to read any more of a member.
func (n *NodeFeed) report(member string, gone []string) {
	slices.Sort(gone)
	for _, node := range gone {
		if node == inventoryMark {
			n.sink.Inventory(member, nil, 0)
		} else {
			n.sink.NodeGone(member, node)
		}
	}
}

func (n *NodeFeed) lost() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.miss()
}
