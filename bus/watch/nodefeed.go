package watch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"flotilla/bus"
	"flotilla/subjects"
)

// NodeSink takes in what a NodeFeed delivers. Its functions are called one at a time and in the order of
// the stream; they must neither block nor purge. What is stored is the sink's own.
type NodeSink interface {
	// Node is the newest state of a node, an api.NodeEvent, and when it was stored, by the connection's clock.
	Node(member, node string, state Stored, stored time.Time)
	// NodeGone says that nothing is stored of a node any more. That the node left the member is said by an
	// event of its own.
	NodeGone(member, node string)
	// Inventory is the newest api.NodeInventory of a member and how long ago the broker stored it.
	Inventory(member string, inventory Stored, age time.Duration)
	// InventoryGone says that no inventory of a member is stored any more.
	InventoryGone(member string)
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
	bytes    int64  // as stored
	// purged marks stay for the rest of the listing: what is still on its way must not bring them back.
	purged bool
}

// NodeFeed follows the nodes and the inventories of nodes of all members. It keeps no bodies: what it
// knows of a subject is that it exists, and how large what is stored of it is.
type NodeFeed struct {
	conn  *bus.Conn
	sink  NodeSink
	feed  *Feed
	turns *turns
	limit nodeLimit

	mu sync.RWMutex // guards what follows; never held while the sink is called
	passes
	marks   map[string]map[string]nodeMark // by member and node
	ledgers map[string]*nodeLedger         // by member
	listing bool
}

// NewNodeFeed returns a feed of the connection's fleet; Run fills the sink.
func NewNodeFeed(c *bus.Conn, s NodeSink) *NodeFeed {
	n := &NodeFeed{conn: c, sink: s, passes: newPasses(), marks: map[string]map[string]nodeMark{}, ledgers: map[string]*nodeLedger{}}
	n.turns = newTurns(n.deliver)
	n.feed = NewFeed(c, source{
		name: subjects.Events, stream: c.Fleet.Stream(subjects.Events), window: windowOf(subjects.Events),
		filters: []string{c.Fleet.AllNodeEvents("*"), c.Fleet.NodeInventory("*")},
		key:     func(subject string) (string, bool) { return subject, true },
	}, n)
	return n
}

// Run follows until ctx ends: it lists anew after each reconnect, gap and dropped message, and hourly.
func (n *NodeFeed) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { n.turns.run(ctx, &n.feed.mu) })
	n.feed.Run(ctx)
	running.Wait()
}

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
	n.turns.drain()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listing = true
	for _, l := range n.ledgers {
		l.purged(l.newest) // what is stored comes again
	}
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

// message counts what is stored, and has it taken in where its member has a share left for it.
func (n *NodeFeed) message(m Message) {
	member, node, ok := n.parse(m.Key)
	switch {
	case member == "":
	case !ok:
		n.refuse(member, m)
	case !n.note(member, node, m):
	case m.replayed:
		n.deliver(m)
	default:
		n.turns.add(member, m)
	}
}

// parse is whose the message of a subject is, and of which node, or inventoryMark. It is not ok when an agent
// should not have written it.
func (n *NodeFeed) parse(subject string) (member, node string, ok bool) {
	if member, node, ok = n.conn.Fleet.ParseNodeEvent(subject); ok {
		return member, node, true
	}
	if member, ok = n.conn.Fleet.ParseNodeInventory(subject); ok {
		return member, inventoryMark, true
	}
	member, _ = n.conn.Fleet.EventMember(subject)
	return member, "", false
}

// deliver hands the newest message of a subject to the sink.
func (n *NodeFeed) deliver(m Message) {
	member, node, _ := n.parse(m.Key)
	n.mu.RLock()
	mark := n.marks[member][node]
	n.mu.RUnlock()
	if mark.sequence != m.Sequence || mark.purged {
		return
	}
	if node == inventoryMark {
		n.sink.Inventory(member, NewStored(m.Value, bus.InventoryBounds, m.Sequence), n.age(m))
		return
	}
	n.sink.Node(member, node, NewStored(m.Value, bus.NodeBounds, m.Sequence), n.conn.FromMachine(m.stored))
}

// age of a message that is being delivered.
func (n *NodeFeed) age(m Message) time.Duration {
	if !m.replayed {
		return 0
	}
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.current.age(m.stored, time.Now())
}

// note marks a subject as stored and says whether the message is to be delivered: it is newer than what was
// delivered of it, and its member has a share left for it.
func (n *NodeFeed) note(member, node string, m Message) bool {
	fresh, beyond, gone := n.enter(member, node, m)
	if gone {
		n.report(member, []string{node})
	}
	if beyond && n.limit.beyond != nil {
		n.limit.beyond(member)
	}
	return fresh && !beyond
}

// enter is note, and says whether what was delivered before is gone by it.
func (n *NodeFeed) enter(member, node string, m Message) (fresh, beyond, gone bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	sequence := m.Sequence
	if !n.listing && sequence <= n.newest {
		return false, false, false // it was purged since
	}
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
		return false, false, false
	}
	n.newest = max(n.newest, sequence)
	l, size := n.ledger(member), storedSize(m)
	if node != inventoryMark && n.limit.exceeded(l, old, size) {
		l.refuse(m, size, time.Now(), n.limit.bytes)
		l.leave(old)
		delete(marks, node)
		return true, true, old.sequence > 0 && !old.purged
	}
	l.admit(m.Key, old, size)
	marks[node] = nodeMark{sequence: sequence, round: n.round, bytes: size}
	return true, false, false
}

func (n *NodeFeed) listed() {
	n.mu.Lock()
	gone := n.sweep()
	n.listing = false
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
			n.ledger(member).leave(m)
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
			n.sink.InventoryGone(member)
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
