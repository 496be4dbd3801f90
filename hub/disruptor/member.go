package disruptor

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"flotilla/core/cluster"
	"flotilla/core/disruption"
	"flotilla/core/orchestration"
)

// memberState is what the room keeps of one member between passes.
type memberState struct {
	name string

	inbox inbox

	// deciding is held for a pass, and by who looks at the view; it guards what follows.
	deciding sync.Mutex
	view     *cluster.View
	// version counts changes of the view; heard is when its inventory was made, by the hub's clock.
	version uint64
	heard   time.Time
	// listed says that an inventory came of which the stored states have not been compared.
	listed  bool
	waiting []orchestration.Waiting
	// warned is when it was last told that something of it cannot be read.
	warned time.Time
	// suspects are nodes that no inventory has named, since when that was noticed of a member beyond its share.
	suspects map[string]time.Time
	pace     pace
	// free is since when nobody is known to hold the member, zero while somebody does.
	free   time.Time
	excess excess

	// decision is the newest that was made; short says that it left nodes because budgets are spent.
	decision atomic.Pointer[disruption.Decision]
	short    atomic.Bool
}

// excess is about a member that tells more than it may.
type excess struct {
	// over says that it has stored more than its share, warned when that was last told of.
	over   atomic.Bool
	warned time.Time
	// rests is until when what it tells is left alone, in nanoseconds since 1970 by the hub's clock.
	rests atomic.Int64
}

func newMember(name string) *memberState { return &memberState{name: name, view: cluster.NewView()} }

// decided keeps a decision.
func (m *memberState) decided(d *disruption.Decision) {
	m.decision.Store(d)
	m.short.Store(slices.ContainsFunc(d.Verdicts, func(v disruption.Verdict) bool {
		return slices.ContainsFunc(v.Refusals, func(r disruption.Refusal) bool { return r.Code == disruption.CodeBudget })
	}))
}

// stale says why the view is too old to act on, "" when it is not. The age of the inventory goes by one
// clock, the hub's.
func (m *memberState) stale(now time.Time, most time.Duration) string {
	at := m.view.Inventoried()
	if !at.IsZero() {
		at = at.Add(now.Sub(m.heard))
	}
	return m.view.Stale(at, most)
}

// skewed says that the clock of the agent is far off the hub's, "" when it is not: ages of pods and nodes go
// by both. An inventory is told minutes after the look that it is of, at most.
func (m *memberState) skewed() string {
	at := m.view.Inventoried()
	switch off := m.heard.Sub(at).Truncate(time.Second); {
	case at.IsZero():
		return ""
	case off > mostSkew:
		return fmt.Sprintf("the clock of its agent is %s behind the hub's", off)
	case off < -mostSkew:
		return fmt.Sprintf("the clock of its agent is %s ahead of the hub's", -off)
	default:
		return ""
	}
}

// roster is every member that anything was heard of.
type roster struct {
	mu      sync.Mutex
	members map[string]*memberState
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
		m = newMember(name)
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
func (r *roster) push(name string, a arrival) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of(name).inbox.push(a)
}

// forget drops a member that nothing is known of any more, unless something has arrived.
func (r *roster) forget(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.members[name]; m != nil && m.inbox.empty() {
		delete(r.members, name)
	}
}
