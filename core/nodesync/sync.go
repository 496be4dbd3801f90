package nodesync

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/cluster"
)

// Pace is how often things are told.
type Pace struct {
	// Interval is the least time between two events of a node, and between two inventories.
	Interval time.Duration
	// Resync is how often everything is told although it is the same.
	Resync time.Duration
}

// Sync is what an agent saw of its nodes, and how much of it the hub has. It is not for several goroutines.
type Sync struct {
	pace      Pace
	boot      string
	nodes     map[string]*node
	inventory inventory
	between   between
	history   history
	blind     bool   // the member could not be read
	sequence  uint64 // of the newest event or inventory that was tried
	newest    string // the node told last, empty when it is gone
	floor     time.Time
	paced     time.Time // when all there was had been told
	owing     time.Time // since when nodes that lost pods wait to be told, zero when none does
}

// node is one node, its newest state, and how much of it the hub has.
type node struct {
	state api.NodeState
	gone  bool
	// version counts the states, from 1; stored is the version that the hub has, 0 for none.
	version, stored uint64
	// sequence of the newest event that the hub took.
	sequence uint64
	// tried says that an event was sent, taken or not.
	tried    bool
	failures int       // in a row
	at       time.Time // of the look that gave the state
	told     time.Time
	// withheld says why the hub has no more than the node's name, empty when it has all.
	withheld string
	// pods are those of the event that the hub took last, unless lost says that it may not have it any more;
	// perhaps holds the keys of those of later events, of which nobody knows whether it has them.
	pods    []api.PodState
	lost    bool
	perhaps map[string]bool
}

// New returns a Sync of an agent that has told nothing since it was started. Boot tells its starts apart; past is what
// Keep returned last before, nil when that is not known.
func New(boot string, pace Pace, past map[string]Past) *Sync {
	if past == nil {
		past = map[string]Past{}
	}
	return &Sync{pace: pace, boot: boot, nodes: map[string]*node{}, history: history{nodes: past, kept: maps.Clone(past)}}
}

// Keep is what is to be kept for the next process of the agent, nil when that is what it returned last.
func (s *Sync) Keep() map[string]Past {
	if !s.history.dirty {
		return nil
	}
	s.history.kept = maps.Clone(s.history.nodes)
	s.history.dirty, s.history.pressing = false, false
	return s.history.kept
}

// Pressing says that Keep has something that the next process could not find out by itself: that pods came and went, that a
// node is initialised. Where pods differ from those that were kept it counts a pod event, later than there was one.
func (s *Sync) Pressing() bool { return s.history.pressing }

// See takes in a look at the member, and adds to seen what the look does not tell: since when, and the pods that are
// between two nodes. It reports whether a pod left a node that goes.
func (s *Sync) See(seen *cluster.Observed, at time.Time) (left bool) {
	s.blind = false
	for i := range seen.Nodes {
		s.history.complete(&seen.Nodes[i], at.UTC().Truncate(time.Second))
	}
	s.history.only(seen.Nodes)
	left = s.between.look(s.nodes, seen, at)
	s.merge(seen.Nodes, at)
	s.inventory.now, s.inventory.at = seen.Inventory, at
	return left
}

// Blind notes that the member could not be read: no inventory is told until it is seen again, the hub would take it for
// fresh.
func (s *Sync) Blind() { s.blind = true }

// merge notes the newest state of each node.
func (s *Sync) merge(states []api.NodeState, at time.Time) {
	there := make(map[string]bool, len(states))
	for i := range states {
		n := &states[i]
		there[n.Name] = true
		t := s.nodes[n.Name]
		if t == nil {
			t = &node{}
			s.nodes[n.Name] = t
		}
		t.at = at
		if t.version == 0 || t.gone || !reflect.DeepEqual(t.state, *n) {
			t.state, t.gone = *n, false
			t.version++
		}
	}
	for name, t := range s.nodes {
		switch {
		case there[name] || t.gone:
		case !t.tried:
			delete(s.nodes, name)
		default:
			t.state, t.gone, t.at = api.NodeState{Name: name, UID: t.state.UID}, true, at
			t.version++
		}
	}
}

// Event is what to tell of a node, false when the hub has it. Took or Refused must follow.
func (s *Sync) Event(name string) (api.NodeEvent, bool) {
	t := s.nodes[name]
	if t == nil || t.stored >= t.version {
		return api.NodeEvent{}, false
	}
	s.sequence++
	t.tried = true
	return api.NodeEvent{Boot: s.boot, Sequence: s.sequence, At: s.stamp(t.at), Node: t.state, Gone: t.gone}, true
}

// Took notes that the hub has an event. Withheld says why it got less than there is, and news that it got all before.
func (s *Sync) Took(e *api.NodeEvent, withheld string, now time.Time) (news bool) {
	name := e.Node.Name
	t := s.nodes[name]
	t.stored, t.sequence, t.told = t.version, e.Sequence, now
	t.failures, t.lost, t.pods, t.perhaps = 0, false, e.Node.Pods, nil
	news = withheld != "" && t.withheld == ""
	t.withheld = withheld
	switch {
	case !e.Gone:
		s.newest = name
	case s.newest == name:
		s.newest = ""
	}
	if e.Gone {
		delete(s.nodes, name)
	}
	return news
}

// Refused notes an event of which nobody knows whether the hub has it.
func (s *Sync) Refused(name string) {
	t := s.nodes[name]
	t.failures++
	if t.perhaps == nil {
		t.perhaps = map[string]bool{}
	}
	for key := range movable(t.state.Pods) {
		t.perhaps[key] = true
	}
}

// Untold counts the nodes whose newest state the hub does not have.
func (s *Sync) Untold() int {
	n := 0
	for _, t := range s.nodes {
		if t.stored < t.version {
			n++
		}
	}
	return n
}

// Withheld says what the hub got less of than there is, empty when nothing.
func (s *Sync) Withheld() string {
	if s.inventory.withheld != "" {
		return s.inventory.withheld
	}
	for _, name := range s.names(func(t *node) bool { return t.withheld != "" }) {
		return "node " + name + ": " + s.nodes[name].withheld
	}
	return ""
}

// names are the nodes of which something holds, those that the hub did not take last.
func (s *Sync) names(holds func(*node) bool) []string {
	var names []string
	for name, t := range s.nodes {
		if holds(t) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(s.nodes[a].failures, s.nodes[b].failures), strings.Compare(a, b))
	})
	return names
}

// stamp is the time of a look as it is told: later than what an earlier process of the agent told, even
// when the clock was set back since.
func (s *Sync) stamp(at time.Time) metav1.Time {
	at = at.UTC().Truncate(time.Second)
	if !at.After(s.floor) {
		at = s.floor.Add(time.Second)
	}
	return metav1.NewTime(at)
}

// Reduced is what is left of a state that is too large: enough to count the node.
func Reduced(n *api.NodeState, why string) api.NodeState {
	out := api.NodeState{Name: n.Name, UID: n.UID, Managed: n.Managed, Deleting: n.Deleting, Withheld: why}
	if pool, ok := n.Labels[api.LabelNodePool]; ok {
		out.Labels = map[string]string{api.LabelNodePool: pool}
	}
	return out
}
