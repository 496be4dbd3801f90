package server

import (
	"time"

	"flotilla/core/pace"
)

// mostSent is what one user sends: what the agent of a member of 10,000 nodes has to say after it was away, twice. Each message counts, and
// each 4 KiB of them. A server reads as fast as it can from each connection, and what others say to the same stream waits meanwhile.
var mostSent = pace.Rate{Burst: 40_000, Every: time.Second / 1_000}

// sentByLeaf is how many agents' share all behind a leaf node have together.
const sentByLeaf = 16

// mostUntaken is how many bytes may wait in a server until one user takes them, of all their connections, and untakenByLeaf those of a leaf
// node, for which servers know no limit of their own.
const mostUntaken, untakenByLeaf = 32 << 20, 128 << 20

// lookEvery is how often it is looked what who is connected has sent: to the server of this process, and to others, which are asked.
const lookEvery, askEvery = 250 * time.Millisecond, time.Second

// Excess is what a user has too much of.
type Excess int

// What users are cut for: too many connections, too many messages, and what they were sent and do not take.
const (
	ExcessConnections Excess = iota
	ExcessMessages
	ExcessUntaken
)

// traffic is what a connection has sent since it was opened, and what waits for it.
type traffic struct {
	messages, bytes int64
	untaken         int
}

// weighs is what that counts as of mostSent.
func (t traffic) weighs() int64 { return t.messages + t.bytes/(4<<10) }

// spend counts what the user sent, and says whether that is no more than they may; what those behind a leaf node send counts as a sixteenth.
func (h *holder) spend(sent int64, now time.Time) (within bool) {
	if h.leaf {
		sent = (sent + sentByLeaf - 1) / sentByLeaf
	}
	mostSent.Spend(&h.sent, now, int(sent))
	return !mostSent.Next(&h.sent, now).After(now.Add(mostSent.Every))
}

func (h *holder) mostUntaken() int {
	if h.leaf {
		return untakenByLeaf
	}
	return mostUntaken
}

// look takes note of what connections have sent and not taken, and returns how to cut connections, and all of users who have too much of either.
func (c *crowd) look(of map[connection]traffic, now time.Time) (kick func([]connection), beyond []connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kick == nil {
		return nil, nil
	}
	for _, h := range c.users {
		sent, untaken := int64(0), 0
		for i := range h.open {
			if found, is := of[h.open[i].at]; is {
				sent += max(0, found.weighs()-h.open[i].sent)
				h.open[i].sent, untaken = found.weighs(), untaken+found.untaken
			}
		}
		switch {
		case !h.spend(sent, now):
			h.excess, h.barred = ExcessMessages, now
		case untaken > h.mostUntaken():
			h.excess = ExcessUntaken
		default:
			continue
		}
		h.cut = now
		beyond = append(beyond, h.give()...)
	}
	return c.kick, beyond
}

// give gives all connections up, to be cut.
func (h *holder) give() (open []connection) {
	for _, o := range h.open {
		open = append(open, o.at)
	}
	h.open = nil
	return open
}
