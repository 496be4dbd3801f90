package nodesync

import (
	"cmp"
	"errors"
	"time"

	"flotilla/core/api"
)

// Step is what to tell next: the states of some nodes, in any order and at once, or the inventory.
type Step struct {
	Nodes     []string
	Inventory *api.NodeInventory
}

// Round is one telling of what is due, or of what must be told before one node may be gone.
type Round struct {
	s           *Sync
	begun       time.Time
	first, last []string // nodes that lose no pod, and those that do
	node        string   // that is to be told, of a round for one node

	after  func(r *Round, now time.Time) Step // what follows, nil when nothing does
	failed error                              // of the step before
	fault  error                              // the first that keeps the round from being whole
	before uint64                             // the sequence when it began
	held   bool                               // the last ones have to wait
	next   time.Time
}

// ErrUnread says that a member cannot be read whose inventory must be told.
var ErrUnread = errors.New("the nodes of the member cannot be read")

// Round begins a telling of all that is due: nodes that lose no pod, then those that do, once the hub knows of every pod,
// then the inventory.
func (s *Sync) Round(now time.Time) *Round {
	r := &Round{s: s, begun: now, before: s.sequence, after: (*Round).gains}
	due := func(t *node) bool { return !s.dueAt(t).After(now) }
	for _, t := range s.nodes {
		if !due(t) {
			r.next = sooner(r.next, s.dueAt(t))
		} else if t.stored == t.version {
			t.stored = 0
		}
	}
	r.first = s.names(func(t *node) bool { return due(t) && !t.gone && !t.loses() })
	r.last = s.names(func(t *node) bool { return due(t) && (t.gone || t.loses()) })
	if len(r.first)+len(r.last) > 0 {
		r.next = sooner(r.next, now.Add(s.pace.Resync))
	}
	return r
}

// Flush begins a telling of one node whatever the interval says. A node that was never seen is told to be gone. Where
// pods went that left the node is told first.
func (s *Sync) Flush(name string, now time.Time) *Round {
	t := s.nodes[name]
	if t == nil {
		t = &node{state: api.NodeState{Name: name}, gone: true, version: 1, at: now}
		s.nodes[name] = t
	}
	r := &Round{s: s, begun: now, node: name, after: (*Round).one}
	if t.loses() && s.misses() {
		r.after = (*Round).allGains
	}
	return r
}

// Next is what to tell next, after the step before ended so; false when the round is over.
func (r *Round) Next(failed error, now time.Time) (Step, bool) {
	r.failed = failed
	for r.after != nil {
		if step := r.after(r, now); len(step.Nodes) > 0 || step.Inventory != nil {
			return step, true
		}
		r.failed = nil
	}
	return Step{}, false
}

// Result is when there is more to tell, zero when something must happen first, or what kept the hub from being told.
func (r *Round) Result() (next time.Time, err error) { return r.next, r.fault }

func (r *Round) then(after func(*Round, time.Time) Step, step Step) Step {
	r.after = after
	return step
}

func (r *Round) gains(time.Time) Step { return r.then((*Round).cover, Step{Nodes: r.first}) }

// cover sees to it that the hub knows of every pod before nodes that lost some are told, with an inventory if need be,
// unless nodes that pods came to can be told soon.
func (r *Round) cover(time.Time) Step {
	r.fault = r.failed
	s := r.s
	if len(r.last) == 0 {
		return r.then((*Round).rest, Step{})
	}
	if !s.misses() {
		s.owing = time.Time{}
		return r.then((*Round).losses, Step{})
	}
	r.held = true
	if later := s.coverAt(r.begun); later.After(r.begun) {
		if s.owing.IsZero() {
			s.owing = r.begun
		}
		r.next = sooner(r.next, later)
		return r.then((*Round).rest, Step{})
	}
	if inv := s.count(); inv != nil {
		return r.then((*Round).covered, s.send(inv))
	}
	return r.then((*Round).rest, Step{})
}

func (r *Round) covered(time.Time) Step {
	if r.failed != nil {
		r.fault = cmp.Or(r.fault, r.failed)
		return r.then(nil, Step{})
	}
	r.s.owing, r.held = time.Time{}, false
	return r.then((*Round).losses, Step{})
}

func (r *Round) losses(time.Time) Step { return r.then((*Round).rest, Step{Nodes: r.last}) }

// rest is the inventory, which waits for the events that it counts.
func (r *Round) rest(now time.Time) Step {
	if r.fault = cmp.Or(r.fault, r.failed); r.fault != nil {
		return r.then(nil, Step{})
	}
	inv, next := r.s.dueInventory(now)
	if inv != nil {
		return r.then((*Round).listed, r.s.send(inv))
	}
	r.next = sooner(r.next, next)
	return r.then((*Round).end, Step{})
}

func (r *Round) listed(time.Time) Step {
	if r.fault = r.failed; r.fault != nil {
		return r.then(nil, Step{})
	}
	i := &r.s.inventory
	i.stored = true
	r.next = sooner(r.next, i.toldAt.Add(r.s.pace.Resync))
	return r.then((*Round).end, Step{})
}

func (r *Round) end(now time.Time) Step {
	if !r.held && r.s.sequence > r.before {
		r.s.paced = now
	}
	return r.then(nil, Step{})
}

// allGains are the nodes that pods came to, whatever the interval says.
func (r *Round) allGains(time.Time) Step {
	gains := r.s.names(func(t *node) bool { return !t.loses() && len(t.came()) > 0 })
	return r.then((*Round).coverNow, Step{Nodes: gains})
}

// coverNow lets the hub know of every pod. What it refused is in the inventory.
func (r *Round) coverNow(time.Time) Step {
	if !r.s.misses() {
		return r.then((*Round).one, Step{})
	}
	r.fault = cmp.Or(r.failed, ErrUnread)
	if inv := r.s.count(); inv != nil {
		return r.then((*Round).coveredNow, r.s.send(inv))
	}
	return r.then(nil, Step{})
}

func (r *Round) coveredNow(time.Time) Step {
	if r.failed != nil {
		r.fault = r.failed
		return r.then(nil, Step{})
	}
	r.s.owing = time.Time{}
	return r.then((*Round).one, Step{})
}

func (r *Round) one(time.Time) Step {
	return r.then(func(r *Round, _ time.Time) Step { r.fault = r.failed; return r.then(nil, Step{}) }, Step{Nodes: []string{r.node}})
}
