package member

import (
	"time"

	"flotilla/bus"
	"flotilla/core/pace"

	"github.com/nats-io/nats.go"
)

// Whoever shares the account of agents may have what they read sent to the subject of a member's hints, as fast as hubs answer. So an agent
// stops listening there once too much came that is no hint, and when its connection does not last while it listens: a slow link is full before
// a message has come whole. Meanwhile followers look by themselves.
var strange = pace.Rate{Burst: 64, Every: time.Second} // KiB

const (
	// unheardFirst is for how long it stops at first where too much came, and unheardLost where connections did not last; each time that it
	// happens again twice as long, unheardMost at most, until it did not happen for unheardCalm.
	unheardFirst, unheardLost = time.Second, time.Minute
	unheardMost, unheardCalm  = 10 * time.Minute, 10 * time.Minute
	// brief is how many connections in a row have to be lost within steady.
	brief = 2
	// pursuitUnheard is how often commands are read meanwhile where too much came. Where connections did not last it is pursuitBeyondLink: it
	// may be that servers begin anew, with all agents at once.
	pursuitUnheard = time.Second
)

// unheard is why and since when an agent does not listen for hints, though it may.
type unheard struct {
	every   time.Duration // how often commands are read meanwhile; 0 while it listens
	again   *time.Timer   // ends it
	lasted  time.Duration // the last time
	ended   time.Time     // the last time
	strange pace.Bucket   // what came that was no hint
	up      time.Time     // when the connection came up
	lost    int           // connections in a row that did not last
}

// stranger takes note of a message that is no hint.
func (a *Conn) stranger(m *nats.Msg) {
	h, now := &a.hints, time.Now()
	h.mu.Lock()
	strange.Spend(&h.unheard.strange, now, 1+m.Size()>>10)
	tooMuch := strange.Next(&h.unheard.strange, now).After(now)
	h.mu.Unlock()
	if tooMuch {
		a.unhear(unheardFirst, pursuitUnheard, "too much comes where hints do that is none")
	}
}

// cameUp takes note of the connection, and listens.
func (a *Conn) cameUp() {
	a.hints.mu.Lock()
	a.hints.unheard.up = time.Now()
	a.hints.mu.Unlock()
	_ = a.hear() // else the connection is closed
}

// disturbed takes note of connections that do not last while the agent listens.
func (a *Conn) disturbed(d bus.Disturbance, _ error) {
	if d != bus.Lost {
		return
	}
	h := &a.hints
	h.mu.Lock()
	u := &h.unheard
	if h.subscription == nil || time.Since(u.up) > steady {
		u.lost = 0
	} else {
		u.lost++
	}
	again := u.lost >= brief
	h.mu.Unlock()
	if again {
		a.unhear(unheardLost, pursuitBeyondLink, "connections do not last while hints are listened for")
	}
}

// reconnects says that the connection is about to be lost on purpose.
func (h *hints) reconnects() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unheard.up = time.Time{}
}

// unhear stops listening for hints for a while, at least as long as is said, and has followers look now and each time that has passed.
func (a *Conn) unhear(least, every time.Duration, why string) {
	h := &a.hints
	h.mu.Lock()
	u := &h.unheard
	if u.every > 0 || h.subscription == nil {
		h.mu.Unlock()
		return
	}
	if time.Since(u.ended) > unheardCalm {
		u.lasted = 0
	}
	u.every, u.lost, u.lasted = every, 0, min(max(2*u.lasted, least), unheardMost)
	_ = h.subscription.Unsubscribe() // else the connection is closed, and hears nothing either
	h.subscription = nil
	pause := u.lasted
	u.again = time.AfterFunc(pause, a.listenAgain)
	h.mu.Unlock()
	a.conn.Log.Warn().Dur("pause", pause).Msg(why + ": the agent looks for commands itself meanwhile")
	a.tellAll("", 0)
}

// listenAgain ends that.
func (a *Conn) listenAgain() {
	h := &a.hints
	h.mu.Lock()
	h.unheard.every, h.unheard.ended, h.unheard.strange = 0, time.Now(), pace.Bucket{}
	h.mu.Unlock()
	_ = a.hear() // else the connection is closed
	a.tellAll("", 0)
}

// looksEvery is how often commands are read because the agent does not listen for hints, though it may; 0 where it does.
func (a *Conn) looksEvery() time.Duration {
	a.hints.mu.Lock()
	defer a.hints.mu.Unlock()
	return a.hints.unheard.every
}

// close ends what waits to listen again.
func (h *hints) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.unheard.again != nil {
		h.unheard.again.Stop()
	}
}
