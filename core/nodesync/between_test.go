package nodesync

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/cluster"
)

// crossing is a member as one look after the other sees it.
type crossing struct {
	t       *testing.T
	between between
	nodes   map[string]*node
	now     time.Time
}

// look returns the names of the pods that are told to wait for a node.
func (s *crossing) look(pending []api.PodState, nodes ...api.NodeState) []string {
	s.t.Helper()
	seen := &cluster.Observed{Nodes: nodes, Inventory: api.NodeInventory{Pending: pending}}
	s.between.look(s.nodes, seen, s.now)
	s.nodes = map[string]*node{}
	for _, n := range nodes {
		s.nodes[n.Name] = &node{state: n}
	}
	var names []string
	for i := range seen.Inventory.Pending {
		p := &seen.Inventory.Pending[i]
		require.False(s.t, p.Terminating)
		require.Equal(s.t, "Pending", p.Phase)
		names = append(names, p.Name)
	}
	return names
}

func (s *crossing) later(d time.Duration) { s.now = s.now.Add(d) }

func newCrossing(t *testing.T) *crossing { return &crossing{t: t, now: noon} }

func podOf(name, owner string, change ...func(*api.PodState)) api.PodState {
	p := api.PodState{Namespace: "shop", Name: name, UID: name, Owner: "ReplicaSet", OwnerName: owner, Phase: "Running"}
	for _, c := range change {
		c(&p)
	}
	return p
}

func nodeWith(name string, pods ...api.PodState) api.NodeState {
	return api.NodeState{Name: name, Pods: pods}
}

func goingWith(name string, pods ...api.PodState) api.NodeState {
	n := nodeWith(name, pods...)
	n.Taints = []corev1.Taint{{Key: api.TaintDisrupted, Effect: corev1.TaintEffectNoSchedule}}
	return n
}

func ends(p *api.PodState) { p.Terminating = true }

// A pod that left a node which goes waits for a node until its successor is seen, on a node or waiting itself.
func TestPodsBetweenTwoNodesAreTold(t *testing.T) {
	s := newCrossing(t)
	require.Empty(t, s.look(nil, goingWith("n1", podOf("a", "web"), podOf("b", "web")), nodeWith("n2", podOf("c", "web"))))
	require.Equal(t, []string{"a"}, s.look(nil, goingWith("n1", podOf("a", "web", ends), podOf("b", "web")), nodeWith("n2", podOf("c", "web"))))
	s.later(time.Second)
	require.Equal(t, []string{"a", "b"}, s.look(nil, nodeWith("n2", podOf("c", "web"))), "the node is gone")
	pending := podOf("e", "web", func(p *api.PodState) { p.Phase = "Pending" })
	require.Equal(t, []string{"b", "e"}, s.look([]api.PodState{pending}, nodeWith("n2", podOf("c", "web"))), "the oldest is back")
	require.Empty(t, s.look(nil, nodeWith("n2", podOf("c", "web"), podOf("d", "web"), podOf("e", "web"))))
	require.Empty(t, s.between.waiting)
}

// What never comes back is not waited for longer than a successor takes.
func TestPodsThatHaveNoSuccessorAreForgotten(t *testing.T) {
	s := newCrossing(t)
	s.look(nil, goingWith("n1", podOf("a", "web"), podOf("b", "web")))
	require.Equal(t, []string{"a"}, s.look(nil, goingWith("n1", podOf("b", "web"))))
	s.later(SuccessorTime / 2)
	require.Equal(t, []string{"a", "b"}, s.look(nil))
	s.later(SuccessorTime / 2)
	require.Equal(t, []string{"b"}, s.look(nil))
	s.later(SuccessorTime / 2)
	require.Empty(t, s.look(nil))
	require.Empty(t, s.between.waiting)
}

// Several pods of one owner do not vouch for those of another, and pods of other nodes are nobody's loss.
func TestWhoIsNotWaitedFor(t *testing.T) {
	for name, one := range map[string]struct {
		pod    api.PodState
		after  api.NodeState
		wanted []string
	}{
		"of a node that stays":     {podOf("a", "web"), nodeWith("n1"), nil},
		"of no controller":         {podOf("a", "", func(p *api.PodState) { p.Owner = "" }), goingWith("n1"), nil},
		"a daemon":                 {podOf("a", "log", func(p *api.PodState) { p.Owner = "DaemonSet" }), goingWith("n1"), nil},
		"that has done its work":   {podOf("a", "web"), goingWith("n1", podOf("a", "web", func(p *api.PodState) { p.Phase = "Succeeded" })), nil},
		"that ended as it had to":  {podOf("a", "web"), goingWith("n1", podOf("a", "web", ends, func(p *api.PodState) { p.Phase = "Failed" })), []string{"a"}},
		"of a node that came back": {podOf("a", "web"), nodeWith("n1", podOf("a", "web")), nil},
		"whose name comes back":    {podOf("a-0", "web", func(p *api.PodState) { p.Owner = "StatefulSet" }), goingWith("n1"), []string{"a-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newCrossing(t)
			s.look(nil, goingWith("n1", one.pod), nodeWith("n2", podOf("x", "other")))
			other := []api.PodState{podOf("x", "other"), podOf("y", "other")}
			require.Equal(t, one.wanted, s.look(nil, one.after, nodeWith("n2", other...)))
		})
	}
	s := newCrossing(t)
	s.look(nil, goingWith("n1", podOf("a", "web")), nodeWith("n2", podOf("b", "web"), podOf("c", "web")))
	require.Equal(t, []string{"a"}, s.look(nil, nodeWith("n2")), "of pods that others deleted at the same time one is expected back")
	require.Empty(t, s.look(nil, nodeWith("n2", podOf("d", "web"))))
}
