package bus

import (
	"context"
	"time"
)

// Relist makes the feed list anew.
func (n *NodeFeed) Relist() { n.feed.relist("a test asks") }

// Deliver is what the feed does with a message of the stream.
func (n *NodeFeed) Deliver(subject string, body []byte, sequence uint64) {
	n.message(message{key: subject, value: body, sequence: sequence})
	n.turns.drain()
}

// Forget is what the feed does when states of nodes are purged up to a sequence.
func (n *NodeFeed) Forget(member string, sequence uint64, nodes ...string) {
	n.forget(member, sequence, nodes...)
}

// Patience is for how long an answer is waited for at first, and after each of these outcomes.
func Patience(outcomes ...error) (waits []time.Duration) {
	p := newPatience()
	waits = append(waits, p.now)
	for _, err := range outcomes {
		p.learn(err)
		waits = append(waits, p.now)
	}
	return waits
}

// CountMessages has take told of the key of each message that a feed of a bucket delivers.
func CountMessages(c *Conn, bucket string, take func(key string)) (run func(context.Context)) {
	return newFeed(c, bucketSource(c.Fleet, bucket), countingSink{newMirror(func(string) {}), take}).run
}

type countingSink struct {
	*mirror
	take func(key string)
}

func (c countingSink) message(m message) {
	c.take(m.key)
	c.mirror.message(m)
}
