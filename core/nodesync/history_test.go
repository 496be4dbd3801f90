package nodesync

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/cluster"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

// seenNode is a node as looks at it tell: initialised at noon, with pods.
func seenNode(pods ...api.PodState) *api.NodeState {
	return &api.NodeState{Name: "n1", UID: "u1", Initialized: true, Since: metav1.NewTime(noon), Pods: pods}
}

func seenPod(uid string) api.PodState {
	return api.PodState{Namespace: "d", Name: uid, UID: uid, Phase: "Running"}
}

// What a look does not tell: that a pod ended, or went away unseen.
func TestPodEventsAreRemembered(t *testing.T) {
	r := history{nodes: map[string]Past{}}
	look := func(minute int, n *api.NodeState) time.Time {
		r.complete(n, at(minute))
		return n.LastPodEvent.UTC()
	}
	first := seenNode(seenPod("a"), seenPod("b"))
	first.LastPodEvent = metav1.NewTime(at(-5))
	require.Equal(t, at(-5), look(0, first), "what the pods say, when nothing is remembered")
	require.Equal(t, at(-5), look(1, seenNode(seenPod("b"), seenPod("a"))), "the same pods, in another order")
	require.Equal(t, at(2), look(2, seenNode(seenPod("a"), seenPod("b"), seenPod("c"))), "one came")
	ended := seenPod("c")
	ended.Phase = "Succeeded"
	require.Equal(t, at(3), look(3, seenNode(seenPod("a"), seenPod("b"), ended)), "one ended")
	require.Equal(t, at(3), look(4, seenNode(seenPod("a"), seenPod("b"))), "an ended one was removed")
	leaving := seenPod("b")
	leaving.Terminating = true
	require.Equal(t, at(5), look(5, seenNode(seenPod("a"), leaving)), "one began to terminate")
	require.Equal(t, at(5), look(6, seenNode(seenPod("a"))), "it disappeared")
	require.Equal(t, at(7), look(7, seenNode()), "one disappeared that nobody saw terminate")
	daemon := seenPod("d")
	daemon.Owner = "DaemonSet"
	require.Equal(t, at(7), look(8, seenNode(daemon)), "pods of DaemonSets do not count")
	later := seenNode(seenPod("e"))
	later.LastPodEvent = metav1.NewTime(at(30))
	require.Equal(t, at(30), look(9, later), "the later of both")
	other := seenNode()
	other.UID = "u2"
	require.True(t, look(10, other).IsZero(), "another node of that name")
}

func TestInitializedIsRemembered(t *testing.T) {
	r := history{nodes: map[string]Past{}}
	look := func(minute int, n *api.NodeState) time.Time {
		r.complete(n, at(minute))
		return n.Since.UTC()
	}
	fresh := seenNode()
	fresh.Initialized = false
	require.Equal(t, noon, look(0, fresh), "what the node says")
	require.Equal(t, at(1), look(1, seenNode()))
	flipped := seenNode()
	flipped.Since = metav1.NewTime(at(20))
	require.Equal(t, at(1), look(21, flipped), "a node that was not ready for a while stays initialised since")
	unseen := seenNode()
	unseen.Name = "n2"
	require.Equal(t, noon, look(22, unseen), "one that was so before it was seen")
}

// What is kept for the next process is told once after each change; it goes on with that, counts what changed meanwhile as
// a pod event now, and forgets the nodes that left.
func TestWhatIsKept(t *testing.T) {
	see := func(s *Sync, minute int, nodes ...api.NodeState) []api.NodeState {
		seen := cluster.Observed{Nodes: nodes}
		s.See(&seen, at(minute))
		return seen.Nodes
	}
	s := New("b", Pace{}, nil)
	require.Nil(t, s.Keep(), "nothing was seen")
	see(s, 0, *seenNode(seenPod("a")))
	see(s, 1, *seenNode(seenPod("b")))
	kept := s.Keep()
	require.NotNil(t, kept)
	require.Nil(t, s.Keep(), "nothing new")

	s = New("c", Pace{}, kept)
	require.Equal(t, at(1), see(s, 60, *seenNode(seenPod("b")))[0].LastPodEvent.UTC())
	require.Nil(t, s.Keep())
	require.Equal(t, at(61), see(s, 61, *seenNode(seenPod("c")))[0].LastPodEvent.UTC())
	require.NotNil(t, s.Keep())
	see(s, 62)
	require.Equal(t, map[string]Past{}, s.Keep(), "nodes that left are forgotten")
}

// What the next process finds out by itself can wait to be written down: that other pods are there. What it cannot is
// pressing: a node that is new or initialised, pods that came and went.
func TestWhatIsKeptAtOnce(t *testing.T) {
	s := New("b", Pace{}, nil)
	see := func(minute int, nodes ...api.NodeState) {
		seen := cluster.Observed{Nodes: nodes}
		s.See(&seen, at(minute))
	}
	require.False(t, s.Pressing(), "nothing was seen")
	starting := seenNode(seenPod("a"))
	starting.Initialized = false
	see(0, *starting)
	require.True(t, s.Pressing(), "a node that is new")
	s.Keep()
	see(1, *seenNode(seenPod("a")))
	require.True(t, s.Pressing(), "it is initialised")
	s.Keep()
	see(2, *seenNode(seenPod("a"), seenPod("b")))
	require.False(t, s.Pressing(), "a pod came")
	see(3, *seenNode(seenPod("a")))
	require.True(t, s.Pressing(), "and went")
	see(4, *seenNode(seenPod("c")))
	require.True(t, s.Pressing(), "it was not kept yet")
	s.Keep()
	require.False(t, s.Pressing())
	see(5)
	require.False(t, s.Pressing(), "nodes that left are not found")
	other := seenNode(seenPod("d"))
	other.UID = "u2"
	see(6, *other)
	require.True(t, s.Pressing(), "another node of that name")

	s = New("c", Pace{}, map[string]Past{"n1": {UID: "u1", Initialized: noon, Active: active([]api.PodState{seenPod("a")})}})
	see(7, *seenNode(seenPod("b")))
	require.False(t, s.Pressing(), "the process before knew the node")
}
