package bus

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// PurgeNode removes the stored state of a node, unless it was written since it was delivered here. The
// sink hears of it before PurgeNode returns.
func (n *NodeFeed) PurgeNode(ctx context.Context, member, node string) error {
	n.mu.RLock()
	m, ok := n.marks[member][node]
	n.mu.RUnlock()
	if !ok || m.purged {
		return nil
	}
	if err := n.purge(ctx, n.conn.Fleet.NodeEvent(member, node), m.sequence); err != nil {
		return fmt.Errorf("purging node %s of %s: %w", node, member, err)
	}
	n.forget(member, m.sequence, node)
	return nil
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
	n.mu.RUnlock()
	if len(all) == 0 {
		return nil
	}
	for _, subject := range []string{n.conn.Fleet.NodeInventory(member), n.conn.Fleet.AllNodeEvents(member)} {
		if err := n.purge(ctx, subject, newest); err != nil {
			return fmt.Errorf("purging the nodes of %s: %w", member, err)
		}
	}
	n.forget(member, newest, all...)
	return nil
}

// purge removes what a subject has up to a sequence.
func (n *NodeFeed) purge(ctx context.Context, subject string, sequence uint64) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	stream, err := n.conn.JS.Stream(ctx, n.feed.from.stream)
	if err != nil {
		return err
	}
	return stream.Purge(ctx, jetstream.WithPurgeSubject(subject), jetstream.WithPurgeSequence(sequence+1))
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
		n.marks[member][node] = nodeMark{sequence: sequence, round: n.round, purged: true}
		gone = append(gone, node)
	}
	n.mu.Unlock()
	n.report(member, gone)
}
