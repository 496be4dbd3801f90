package disruptor

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"flotilla/bus/loop"
	"flotilla/core/disruption"
	"flotilla/core/orchestration"
	"flotilla/hub/disruptor/told"
)

// memberState is what the room keeps of one member between passes.
type memberState struct {
	name string

	// deciding is held for a pass, and by who looks at the view; it guards what follows.
	deciding loop.Turn
	told.Nodes
	// pooled says that the newest decision, if any, is of when there were NodePools.
	pooled bool
	// kept is until when the view is kept for somebody who may ask again.
	kept time.Time
	// warned is when it was last told that something of it cannot be read.
	warned time.Time
	pace   pace
	// free is since when nobody is known to hold the member, zero while somebody does.
	free    time.Time
	excess  excess
	telling telling

	// askedUntil is until when somebody asks for the member, in nanoseconds since 1970 by the hub's clock.
	askedUntil atomic.Int64

	// decision is the newest that was made; short says that it left nodes because budgets are spent.
	decision atomic.Pointer[disruption.Decision]
	// waiting are the commands that wait for their validation; a pass replaces the list and changes nothing in it.
	waiting atomic.Pointer[[]orchestration.Waiting]
	short   atomic.Bool
}

// excess is about a member that tells more than it may.
type excess struct {
	// over says that it has stored more than its share, warned when that was last told of.
	over   atomic.Bool
	warned time.Time
	// suspects are nodes that no inventory has named, since when that was noticed.
	suspects map[string]time.Time
	// rests is until when what it tells is left alone, in nanoseconds since 1970 by the hub's clock.
	rests atomic.Int64
}

func (m *memberState) asked() time.Time { return time.Unix(0, m.askedUntil.Load()) }

// waits are the commands that wait for their validation.
func (m *memberState) waits() []orchestration.Waiting {
	if list := m.waiting.Load(); list != nil {
		return *list
	}
	return nil
}

// decided keeps a decision.
func (m *memberState) decided(d *disruption.Decision) {
	m.decision.Store(d)
	m.short.Store(slices.ContainsFunc(d.Verdicts, func(v disruption.Verdict) bool {
		return slices.ContainsFunc(v.Refusals, func(r disruption.Refusal) bool { return r.Code == disruption.CodeBudget })
	}))
}

// roster is every member that anything was heard of.
type roster struct {
	mu      sync.Mutex
	members map[string]*memberState
	shared  told.Interner
	most    int64 // what is told of the nodes of one takes at most, in bytes; 0: as much as comes
}

func (r *roster) get(name string) *memberState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of(name)
}

// of is get; the lock is held.
func (r *roster) of(name string) *memberState {
	m := r.members[name]
	if m == nil {
		m = &memberState{name: name, deciding: loop.NewTurn(), Nodes: told.Of(&r.shared, r.most)}
		r.members[name] = m
	}
	return m
}

// names of all members, sorted.
func (r *roster) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.members))
}

// push puts what arrived into the inbox of a member.
func (r *roster) push(name string, a told.Arrival) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of(name).Push(a)
}

// forget drops a member that nothing is known of any more, unless something has arrived.
func (r *roster) forget(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.members[name]; m != nil && !m.News() {
		delete(r.members, name)
	}
}
