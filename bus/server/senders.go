package server

import (
	"slices"
	"time"

	"flotilla/core/pace"
	"flotilla/subjects"
)

// mostSent is what one user sends: an agent of 10,000 nodes that all change tells 2,000 states a second, and all at once after it was away.
// A server reads as fast as it can from each connection, and what others say to the same stream waits meanwhile.
var mostSent = pace.Rate{Burst: 40_000, Every: time.Second / 5_000}

// pieceOf is how many bytes of what users of an account send count as one message more. What people send at once is bounded as requests; a
// restore sends as much as it can.
var pieceOf = map[string]int64{subjects.AccountAgents: 4 << 10, subjects.AccountPeople: 64 << 10}

// sentByLeaf is how many agents' share all behind a leaf node have together.
const sentByLeaf = 16

// mostUntaken is how many bytes may wait in a server until one user takes them, of all their connections, and untakenByLeaf those of a leaf
// node, for which servers know no limit of their own.
const mostUntaken, untakenByLeaf = 32 << 20, 128 << 20

// lookEvery is how often it is looked what who is connected has sent: to the server of this process, unless looking takes long, and to others,
// which are asked.
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

// weighs is what that counts as of mostSent, by a user of an account.
func (t traffic) weighs(account string) int64 {
	if piece := pieceOf[account]; piece > 0 {
		return t.messages + t.bytes/piece
	}
	return t.messages
}

// spend counts what the user sent since a time, and says whether that is no more than they may; what those behind a leaf node send counts as a
// sixteenth.
func (h *holder) spend(sent int64, since, now time.Time) (within bool) {
	if h.leaf {
		sent = (sent + sentByLeaf - 1) / sentByLeaf
	}
	mostSent.Spend(&h.sent, since, int(min(sent, 10*int64(mostSent.Burst))))
	return !mostSent.Next(&h.sent, now).After(now.Add(mostSent.Every))
}

func (h *holder) mostUntaken() int {
	if h.leaf {
		return untakenByLeaf
	}
	return mostUntaken
}

// seen are the connections of servers at a time.
type seen struct {
	of map[connection]traffic
	// all is when it was begun to list them, if those that were open then and are not among them are closed; else zero.
	all time.Time
}

// look takes note of what connections have sent and not taken, and returns how to cut connections, and all of users who have too much of either.
// Who was cut begins anew, once they may come back.
func (c *crowd) look(found seen, now time.Time) (kick func([]connection), beyond []connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kick == nil {
		return nil, nil
	}
	since := c.looked
	if since.IsZero() || since.After(now) {
		since = now
	}
	c.looked = now
	for _, h := range c.users {
		sent, untaken := h.note(found)
		switch {
		case !h.spend(sent, since, now):
			h.excess, h.barred, h.sent = ExcessMessages, now, pace.Bucket{}
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

// ghostAfter is after how long a connection that no server has is closed: what closes it may be heard before what opened it.
const ghostAfter = time.Second

// note takes note of what the user's connections have sent since they were looked at last, and of what waits for them.
func (h *holder) note(found seen) (sent int64, untaken int) {
	h.open = slices.DeleteFunc(h.open, func(o opened) bool {
		_, is := found.of[o.at]
		return !is && found.all.Sub(o.since) > ghostAfter
	})
	for i := range h.open {
		if of, is := found.of[h.open[i].at]; is {
			weighs := of.weighs(h.account)
			sent, untaken = sent+max(0, weighs-h.open[i].sent), untaken+of.untaken
			h.open[i].sent = weighs
		}
	}
	return sent, untaken
}

// give gives all connections up, to be cut.
func (h *holder) give() (open []connection) {
	for _, o := range h.open {
		open = append(open, o.at)
	}
	h.open = nil
	return open
}
