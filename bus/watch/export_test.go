package watch

import (
	"context"
	"time"

	"flotilla/bus"
)

// Relist makes the feed list anew.
func (n *NodeFeed) Relist() { n.feed.relist("a test asks") }

// Deliver is what the feed does with a message of the stream.
func (n *NodeFeed) Deliver(subject string, body []byte, sequence uint64) {
	n.message(Message{Key: subject, Value: body, Sequence: sequence})
	n.turns.drain()
}

// Forget is what the feed does when states of nodes are purged up to a sequence.
func (n *NodeFeed) Forget(member string, sequence uint64, nodes ...string) {
	n.forget(member, sequence, nodes...)
}

// PatienceAfter is for how long an answer is waited for at first, and after each of these outcomes.
func PatienceAfter(outcomes ...error) (waits []time.Duration) {
	p := NewPatience()
	waits = append(waits, p.Now)
	for _, err := range outcomes {
		p.Learn(err)
		waits = append(waits, p.Now)
	}
	return waits
}

// CountMessages has take told of the key of each message that a feed of a bucket delivers.
func CountMessages(c *bus.Conn, bucket string, take func(key string)) (run func(context.Context)) {
	return NewFeed(c, BucketSource(c.Fleet, bucket), countingSink{NewMirror(func(string) {}), take}).Run
}

type countingSink struct {
	*Mirror
	take func(key string)
}

func (c countingSink) message(m Message) {
	c.take(m.Key)
	c.Mirror.message(m)
}

// Held is how many values are kept decoded.
func Held[T any](v *Values[T]) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.held)
}
