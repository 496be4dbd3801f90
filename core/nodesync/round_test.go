package nodesync

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/cluster"
)

// teller carries out rounds for a hub that refuses some nodes.
type teller struct {
	s       *Sync
	now     time.Time
	refuses []string
}

// newTeller has a hub that knows these nodes, as of noon.
func newTeller(nodes ...api.NodeState) *teller {
	t := &teller{s: New("b", Pace{Interval: 5 * time.Second, Resync: time.Hour}, nil), now: noon}
	t.see(nil, nodes...)
	_, _, _ = t.tell(t.s.Round(t.now))
	return t
}

func (t *teller) see(pending []api.PodState, nodes ...api.NodeState) {
	t.s.See(&cluster.Observed{Nodes: nodes, Inventory: api.NodeInventory{Pending: pending}}, t.now)
}

func (t *teller) later(seconds int) { t.now = t.now.Add(time.Duration(seconds) * time.Second) }

// tell returns the steps of a round: the nodes of each, or "inventory" with the pods that it lists without a node.
func (t *teller) tell(r *Round) (steps []string, next time.Time, err error) {
	var fault error
	for {
		step, more := r.Next(fault, t.now)
		if fault = nil; !more {
			next, err = r.Result()
			return steps, next, err
		}
		if inv := step.Inventory; inv != nil {
			words := []string{"inventory"}
			for i := range inv.Pending {
				words = append(words, inv.Pending[i].Name)
			}
			t.s.TookInventory(inv, "", t.now)
			steps = append(steps, strings.Join(words, " "))
			continue
		}
		steps = append(steps, strings.Join(step.Nodes, " "))
		for _, name := range step.Nodes {
			e, due := t.s.Event(name)
			switch {
			case !due:
			case slices.Contains(t.refuses, name):
				t.s.Refused(name)
				fault = errRefused
			default:
				t.s.Took(&e, "", t.now)
			}
		}
	}
}

// The order in which one look is told.
func TestTheOrderOfARound(t *testing.T) {
	a, b, c := podOf("a", "web"), podOf("b", "web"), podOf("c", "web")
	for name, row := range map[string]struct {
		pending []api.PodState
		nodes   []api.NodeState
		refuses []string
		wanted  []string
		fault   error
	}{
		"nothing new":                         {nodes: []api.NodeState{nodeWith("n1", a), nodeWith("n2", b), nodeWith("n3")}},
		"a pod moves":                         {nodes: []api.NodeState{nodeWith("n1"), nodeWith("n2", b), nodeWith("n3", a)}, wanted: []string{"n3", "n1"}},
		"a pod comes":                         {nodes: []api.NodeState{nodeWith("n1", a), nodeWith("n2", b), nodeWith("n3", c)}, wanted: []string{"n3"}},
		"a pod waits, another's place is its": {pending: []api.PodState{c}, nodes: []api.NodeState{nodeWith("n1", a), nodeWith("n2"), nodeWith("n3")}, wanted: []string{"inventory c", "n2"}},
		"two nodes exchange pods":             {nodes: []api.NodeState{nodeWith("n1", b), nodeWith("n2", a), nodeWith("n3")}, wanted: []string{"inventory a b", "n1 n2"}},
		"a node goes, its pod is elsewhere":   {nodes: []api.NodeState{nodeWith("n2", b), nodeWith("n3", a)}, wanted: []string{"n3", "n1", "inventory"}},
		"the hub refuses where a pod went":    {nodes: []api.NodeState{nodeWith("n1"), nodeWith("n2", b), nodeWith("n3", a)}, refuses: []string{"n3"}, wanted: []string{"n3", "inventory a", "n1"}, fault: errRefused},
		"what the hub refuses holds no others": {
			nodes: []api.NodeState{nodeWith("n1", a, c), nodeWith("n2", b, podOf("d", "web")), nodeWith("n3")}, refuses: []string{"n1"}, wanted: []string{"n1 n2"}, fault: errRefused,
		},
	} {
		t.Run(name, func(t *testing.T) {
			told := newTeller(nodeWith("n1", a), nodeWith("n2", b), nodeWith("n3"))
			told.later(10)
			told.refuses = row.refuses
			told.see(row.pending, row.nodes...)
			steps, _, err := told.tell(told.s.Round(told.now))
			require.Equal(t, row.wanted, steps)
			require.ErrorIs(t, err, row.fault)
		})
	}
}

// What is due sooner than its interval waits, and what lost pods waits with it.
func TestNodesThatLostPodsWaitForThoseThatGotThem(t *testing.T) {
	a := podOf("a", "web")
	told := newTeller(nodeWith("n1", a), nodeWith("n2"), nodeWith("n3"))
	told.later(10)
	told.see(nil, nodeWith("n1", a), nodeWith("n2", podOf("x", "web")), nodeWith("n3"))
	steps, _, _ := told.tell(told.s.Round(told.now))
	require.Equal(t, []string{"n2"}, steps)
	told.later(1)
	told.see(nil, nodeWith("n1"), nodeWith("n2", podOf("x", "web"), a), nodeWith("n3"))
	steps, _, err := told.tell(told.s.Round(told.now))
	require.NoError(t, err)
	require.Equal(t, []string{"inventory a"}, steps)
	told.later(4)
	steps, next, _ := told.tell(told.s.Round(told.now))
	require.Empty(t, steps, "what changes is told together, an interval after all there was had been told")
	require.Equal(t, noon.Add(16*time.Second), next)
	told.now = next
	steps, _, _ = told.tell(told.s.Round(told.now))
	require.Equal(t, []string{"n2", "n1", "inventory"}, steps)
}

// One node that must be told now is, after those that its pods went to, whatever the interval says.
func TestTheOrderOfAFlush(t *testing.T) {
	a, b := podOf("a", "web"), podOf("b", "web")
	told := newTeller(nodeWith("n1", a), nodeWith("n2", b), nodeWith("n3"))
	told.see(nil, nodeWith("n2", b), nodeWith("n3", a))
	steps, _, err := told.tell(told.s.Flush("n1", told.now))
	require.NoError(t, err)
	require.Equal(t, []string{"n3", "n1"}, steps)
	steps, _, _ = told.tell(told.s.Flush("never-seen", told.now))
	require.Equal(t, []string{"never-seen"}, steps)

	told.see(nil, nodeWith("n2", a), nodeWith("n3", b))
	steps, _, _ = told.tell(told.s.Flush("n2", told.now))
	require.Equal(t, []string{"inventory a b", "n2"}, steps, "they exchanged pods")

	told = newTeller(nodeWith("n1", a), nodeWith("n2", b))
	told.see(nil, nodeWith("n1", b), nodeWith("n2", a))
	told.s.Blind()
	steps, _, err = told.tell(told.s.Flush("n1", told.now))
	require.Empty(t, steps)
	require.ErrorIs(t, err, ErrUnread)
}

var errOther = errors.New("other")

// What kept a round from being whole is what failed first.
func TestWhatARoundEndsWith(t *testing.T) {
	s := newTeller(nodeWith("n1")).s
	s.Forget()
	r := s.Round(noon.Add(time.Minute))
	step, more := r.Next(nil, noon)
	require.True(t, more)
	require.Equal(t, []string{"n1"}, step.Nodes)
	_, more = r.Next(errOther, noon)
	require.False(t, more, "the inventory waits for the events that it counts")
	_, err := r.Result()
	require.ErrorIs(t, err, errOther)
}
