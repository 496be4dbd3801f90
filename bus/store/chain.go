package store

import (
	"errors"

	"flotilla/bus"
	"flotilla/bus/census"

	"github.com/nats-io/nats.go"
)

// chain numbers the writes of state. Each expects the sequence of the one before it to be the last of the
// stream, so that what is stored is all that was sent up to some message, without a hole, and the tally that
// each carries is true once it is stored. Writer.mu guards it.
type chain struct {
	// generation grows when the numbering begins anew.
	generation int
	last       uint64       // sequence of the newest message that was sent
	sent       census.Tally // of all that was sent
	stored     uint64       // newest sequence that is known to be stored
	sure       census.Tally // of all that is known to be stored
	pending    []change
	fresh      []change // stored, and not yet in the ledger

	refused  bool // a message of this generation was not stored, for a reason of its own
	misfit   bool // one was not the next of the stream, or not of the term
	doubtful bool // of one nobody knows whether it was stored
}

// change is one message of the chain.
type change struct {
	key      string
	revision uint64 // 0 when the record was deleted
	sequence uint64
	after    census.Tally
}

// errBroken says that a message was not sent, or refused, because of one before it.
var errBroken = errors.New("a write before this one failed")

func (c *chain) broken() bool { return c.refused || c.misfit || c.doubtful }

// explained says that all that failed did so because of messages that were refused, so that what is stored is
// known.
func (c *chain) explained() bool { return c.refused && !c.doubtful }

// begin numbers anew, behind the last message of the stream.
func (c *chain) begin(last uint64, t census.Tally) {
	c.generation++
	c.last, c.sent = last, t
	c.stored, c.sure = last, t
	c.pending, c.refused, c.misfit, c.doubtful = nil, false, false, false
}

// resume numbers anew behind what is known to be stored, after every message got its answer.
func (c *chain) resume() {
	fresh := c.fresh
	c.begin(c.stored, c.sure)
	c.fresh = fresh
}

// number gives m its place: before is the revision that it replaces.
func (c *chain) number(m *nats.Msg, key string, before uint64, gone bool) {
	c.guard(m)
	c.last++
	next := change{key: key, sequence: c.last}
	if !gone {
		next.revision = c.last
	}
	if census.Counted(key) {
		c.sent = c.sent.Written(key, before, next.revision)
		c.sent.At = c.last
	}
	next.after = c.sent
	c.pending = append(c.pending, next)
	m.Header.Set(bus.HeaderTally, c.sent.String())
}

// unsend takes back the newest n messages, which were numbered and not sent.
func (c *chain) unsend(n int) {
	c.pending = c.pending[:len(c.pending)-n]
	c.last -= uint64(n)
	c.sent = c.sure
	if len(c.pending) > 0 {
		c.sent = c.pending[len(c.pending)-1].after
	}
}

// confirm says that the message with that sequence, and so each one before it, is stored.
func (c *chain) confirm(sequence uint64) (news bool) {
	n := 0
	for n < len(c.pending) && c.pending[n].sequence <= sequence {
		n++
	}
	if n == 0 {
		return false
	}
	c.stored, c.sure = c.pending[n-1].sequence, c.pending[n-1].after
	c.fresh = append(c.fresh, c.pending[:n]...)
	c.pending = c.pending[n:]
	return true
}

// fail notes the outcome of a message that was not stored for sure.
func (c *chain) fail(o outcome) {
	switch o {
	case stored:
	case refused:
		c.refused = true
	case mismatched, busy:
		c.misfit = true
	case unknown:
		c.doubtful = true
	}
}
