package watch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"flotilla/bus"
	"flotilla/core/api"
)

// MaxNodesOfAMember is how many nodes of one member are taken in.
const MaxNodesOfAMember = 10_000

// nodeLimit is the share of a member, 0 for none, and who is told of what is beyond it.
type nodeLimit struct {
	bytes  int64
	beyond func(member string)
}

// Limit bounds what the states of the nodes of one member may take, and has beyond told, without blocking,
// of each message beyond that: it is not delivered, and is to be purged with Relieve. It is called before
// Run.
func (n *NodeFeed) Limit(bytes int64, beyond func(member string)) { n.limit = nodeLimit{bytes, beyond} }

func (o nodeLimit) exceeded(l *nodeLedger, old nodeMark, bytes int64) bool {
	if o.bytes == 0 {
		return false
	}
	isNew := old.bytes == 0
	return l.bytes-old.bytes+bytes > o.bytes || isNew && l.messages >= MaxNodesOfAMember
}

// nodeLedger counts what is stored of a member's nodes.
type nodeLedger struct {
	messages int
	bytes    int64

	// What is stored beyond the share and not purged yet: by subject, as far as it is kept by name.
	excess      map[string]nodeMark
	excessBytes int64
	nameless    bool
	newest      uint64 // sequence
	// refused and refusedBytes count all that ever was, last is when.
	refused, refusedBytes int64
	last                  time.Time
}

// EventUse is what the states of the nodes of a member take in stream EVENTS.
type EventUse struct {
	Messages int
	Bytes    int64
	// Refused counts messages beyond the share since this hub leads, which are purged, and RefusedBytes what
	// they took; Last is when, by the connection's clock.
	Refused, RefusedBytes int64
	Last                  time.Time
}

// Text says how far a member is beyond its share, and what to do.
func (u EventUse) Text(share bus.Share) string {
	return fmt.Sprintf("its agent tells of more nodes than its share of %s and %d nodes holds: %d messages of %s were purged, and their nodes are unknown; "+
		"look at what writes with its credentials, or give every member more: memberShare.events of the hub",
		api.Size(share.WithDefaults().Events), MaxNodesOfAMember, u.Refused, api.Size(u.RefusedBytes))
}

// Uses is what each member takes.
func (n *NodeFeed) Uses() map[string]EventUse {
	n.mu.RLock()
	defer n.mu.RUnlock()
	out := make(map[string]EventUse, len(n.ledgers))
	for member, l := range n.ledgers {
		out[member] = EventUse{l.messages, l.bytes + l.excessBytes, l.refused, l.refusedBytes, n.conn.FromMachine(l.last)}
	}
	return out
}

// ledger is that of a member; the lock is held.
func (n *NodeFeed) ledger(member string) *nodeLedger {
	l := n.ledgers[member]
	if l == nil {
		l = &nodeLedger{excess: map[string]nodeMark{}}
		n.ledgers[member] = l
	}
	return l
}

// refuse counts a message of a subject that nobody should have written.
func (n *NodeFeed) refuse(member string, m Message) {
	if n.limit.bytes == 0 {
		return
	}
	n.mu.Lock()
	n.newest = max(n.newest, m.Sequence)
	n.ledger(member).refuse(m, storedSize(m), time.Now(), n.limit.bytes)
	n.mu.Unlock()
	if n.limit.beyond != nil {
		n.limit.beyond(member)
	}
}

func storedSize(m Message) int64 { return int64(len(m.Key)+len(m.Value)) + bus.MessageOverhead }

// admit counts a message that is taken in.
func (l *nodeLedger) admit(subject string, old nodeMark, size int64) {
	l.forget(subject)
	if old.bytes == 0 {
		l.messages++
	}
	l.bytes += size - old.bytes
}

// leave takes what is stored no more out of the count.
func (l *nodeLedger) leave(old nodeMark) {
	if old.bytes > 0 {
		l.messages--
		l.bytes -= old.bytes
	}
}

// refuse counts a message beyond the share.
func (l *nodeLedger) refuse(m Message, size int64, now time.Time, share int64) {
	l.forget(m.Key)
	l.refused++
	l.refusedBytes += size
	l.excessBytes += size
	l.newest, l.last = max(l.newest, m.Sequence), now
	if len(l.excess) >= MaxNodesOfAMember || l.excessBytes > share {
		l.nameless = true
		clear(l.excess)
		return
	}
	if !l.nameless {
		l.excess[m.Key] = nodeMark{sequence: m.Sequence, bytes: size}
	}
}

func (l *nodeLedger) forget(subject string) {
	if old, ok := l.excess[subject]; ok {
		l.excessBytes -= old.bytes
		delete(l.excess, subject)
	}
}

// purged takes out of the count what was beyond the share and is purged with all up to a sequence.
func (l *nodeLedger) purged(sequence uint64) {
	if sequence < l.newest {
		return
	}
	clear(l.excess)
	l.excessBytes, l.nameless = 0, false
}

// Relieve purges what a member has stored beyond its share: by name, or where that is more than another share
// all of it, which its agent then tells anew.
func (n *NodeFeed) Relieve(ctx context.Context, member string) error {
	n.mu.RLock()
	var nameless bool
	var excess map[string]nodeMark
	if l := n.ledgers[member]; l != nil {
		nameless, excess = l.nameless, maps.Clone(l.excess)
	}
	n.mu.RUnlock()
	if nameless {
		return n.PurgeMember(ctx, member)
	}
	for _, subject := range slices.Sorted(maps.Keys(excess)) {
		if err := n.purge(ctx, subject, excess[subject].sequence); err != nil {
			return fmt.Errorf("purging what %s has beyond its share: %w", member, err)
		}
		n.mu.Lock()
		if l := n.ledger(member); l.excess[subject].sequence == excess[subject].sequence {
			l.forget(subject)
		}
		n.mu.Unlock()
	}
	return nil
}
