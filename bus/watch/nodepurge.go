package watch

import (
	"context"
	"fmt"
)

// PurgeNode removes the stored state of a node if still says that it may go; nil always says so. It is
// asked while nothing is delivered to the sink, so that what it judges by is what is stored, and a state
// that is written later is not removed. The sink hears of it before PurgeNode returns.
func (n *NodeFeed) PurgeNode(ctx context.Context, member, node string, still func() bool) error {
	sequence, ok := n.purgeable(member, node, still)
	if !ok {
		return nil
	}
	if err := n.purge(ctx, n.conn.Fleet.NodeEvent(member, node), sequence); err != nil {
		return fmt.Errorf("purging node %s of %s: %w", node, member, err)
	}
	n.forget(member, sequence, node)
	return nil
}

// purgeable is the sequence of what the sink was given of a node last; false when there is nothing, or it
// may not go.
func (n *NodeFeed) purgeable(member, node string, still func() bool) (sequence uint64, ok bool) {
	n.feed.mu.Lock()
	defer n.feed.mu.Unlock()
	n.turns.hasten(member, n.conn.Fleet.NodeEvent(member, node))
	n.mu.RLock()
	m, ok := n.marks[member][node]
	n.mu.RUnlock()
	return m.sequence, ok && !m.purged && (still == nil || still())
}

// PurgeMember removes the stored states of all nodes of a member, and their inventory, but for what was
// written since the newest of them was delivered here. The sink hears of it before PurgeMember returns.
func (n *NodeFeed) PurgeMember(ctx context.Context, member string) error {
	n.mu.RLock()
	var newest uint64
	var all []string
	for node, m := range n.marks[member] {
		newest = max(newest, m.sequence)
		all = append(all, node)
	}
	if l := n.ledgers[member]; l != nil {
		newest = max(newest, l.newest)
	}
	n.mu.RUnlock()
	if newest == 0 {
		return nil
	}
	for _, subject := range []string{n.conn.Fleet.NodeInventory(member), n.conn.Fleet.AllNodeEvents(member)} {
		if err := n.purge(ctx, subject, newest); err != nil {
			return fmt.Errorf("purging the nodes of %s: %w", member, err)
		}
	}
	n.forget(member, newest, all...)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ledger(member).purged(newest)
	return nil
}

// purge removes what a subject has up to a sequence.
func (n *NodeFeed) purge(ctx context.Context, subject string, sequence uint64) error {
	return n.conn.Purge(ctx, n.feed.from.stream, subject, sequence)
}

// forget marks what was purged up to a sequence and tells the sink.
func (n *NodeFeed) forget(member string, sequence uint64, nodes ...string) {
	n.feed.mu.Lock()
	defer n.feed.mu.Unlock()
	n.mu.Lock()
	var gone []string
	for _, node := range nodes {
		m, ok := n.marks[member][node]
		if !ok || m.purged || m.sequence > sequence {
			continue
		}
		n.ledger(member).leave(m)
		n.marks[member][node] = nodeMark{sequence: sequence, round: n.round, purged: true}
		if !n.listing { // what is on its way is newer
			delete(n.marks[member], node)
		}
		gone = append(gone, node)
	}
	n.mu.Unlock()
	n.report(member, gone)
}
