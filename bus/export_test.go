package bus

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"flotilla/core/api"
	"flotilla/core/seal"
)

// NewWriter is a writer of a term that was written with that sequence.
func NewWriter(state *State, term api.Term, fence uint64, replicas int) (*Writer, error) {
	on, err := readStanding(context.Background(), state.conn)
	if err != nil {
		return nil, err
	}
	w, err := newWriter(state, Taken{Term: term, fence: fence, on: on}, replicas)
	if err == nil {
		w.chain.begin(on.last, on.tally)
	}
	return w, err
}

// SetPatience is how long a hint is followed whose command does not show up.
func (p *Pursuit) SetPatience(d time.Duration) { p.patience = d }

// Hinted is the newest sequence that was announced and has not been given up.
func (p *Pursuit) Hinted() uint64 { return p.hinted.Load() }

// Subscriptions counts what the connection listens to.
func (a *AgentConn) Subscriptions() int { return a.conn.NC.NumSubscriptions() }

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

// Announce is what the library does a while after the connection is up.
func (c *Conn) Announce() { c.disturb(restored) }

// Lose is what the library does when the connection is gone.
func (c *Conn) Lose() { c.disturb(lost) }

// Unannounced is the connection as it is before the library announces it.
func (c *Conn) Unannounced() *Conn {
	return &Conn{NC: c.NC, JS: c.JS, Fleet: c.Fleet, Log: c.Log, listeners: map[int]*listener{}}
}

// LedgerSettled says that the ledger holds every write, and knows each to be on disk for good.
func LedgerSettled(s *Store) bool {
	s.Writer.mu.Lock()
	defer s.Writer.mu.Unlock()
	return len(s.Writer.chain.pending)+len(s.Writer.chain.fresh) == 0 && s.ledger.settled.Load() == s.Writer.chain.sure.at
}

// LedgerHolds says that every write is stored in the ledger, whether it is known to be on disk for good or not.
func LedgerHolds(ctx context.Context, s *Store) bool {
	l, err := openLedger(ctx, s.Conn)
	return err == nil && l.book.tally.at == s.Writer.tally().at
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

// Steps of making the stream of state anew.
const (
	Kept = iota
	Emptied
	HalfWritten
)

// BreakOff makes the stream of state anew, and goes no further than a step.
func BreakOff(ctx context.Context, s *Store, step int) error {
	records, err := s.left(func(string) bool { return true })
	if err == nil {
		err = s.ledger.rescue(ctx, s.renewed(records), s.Writer.Term())
	}
	if err == nil && step >= Emptied {
		err = s.Writer.empty(ctx)
	}
	for _, key := range slices.Sorted(maps.Keys(records))[:len(records)/2] {
		if err == nil && step >= HalfWritten && counted(key) {
			_, err = s.Writer.Write(ctx, Put(key, json.RawMessage(records[key]), 0))
		}
	}
	return err
}

// Whole says that what is there is what the newest write said would be.
func Whole(s *Store) bool { return tallyOf(s.State.mirror.all()).same(s.Writer.tally()) }

// TakeOver opens a store as a hub does that leads in a term, which was stored with a sequence. Listed is called
// each time state was listed again.
func TakeOver(ctx context.Context, c *Conn, term api.Term, sequence uint64, listed func()) (*Store, error) {
	keys, err := seal.NewKeyring(rand.Reader)
	if err != nil {
		return nil, err
	}
	s, err := OpenStore(ctx, c, Taken{Term: term, fence: sequence}, keys)
	if err != nil {
		return nil, err
	}
	s.State.mirror.onWhole(listed)
	if err := s.count(ctx, &lease{conn: c}, func(error) {}); err != nil {
		return nil, err
	}
	s.closeLedger()
	return s, nil
}

// Reach waits a moment for state to have seen a message.
func Reach(ctx context.Context, s *State, sequence uint64) error { return s.reach(ctx, sequence, 2, 0) }

// WaitsOnceConnected are the first waits of a pursuit for a hint after its connection came up.
func WaitsOnceConnected(p *Pursuit, n int) (waits []time.Duration) {
	p.connected()
	for range n {
		waits = append(waits, p.every())
	}
	return waits
}
