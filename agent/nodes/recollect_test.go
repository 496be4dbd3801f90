package nodes

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/agent/disk"
	"flotilla/core/api"
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
	r, err := recall(t.TempDir())
	require.NoError(t, err)
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
	r, err := recall(t.TempDir())
	require.NoError(t, err)
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

// An agent that was away goes on with what it knew, and counts what changed meanwhile as a pod event now.
func TestRecollectionsOutliveTheAgent(t *testing.T) {
	folder := t.TempDir()
	r, err := recall(folder)
	require.NoError(t, err)
	r.complete(seenNode(seenPod("a")), at(0))
	r.complete(seenNode(seenPod("b")), at(1))
	kept := r.snapshot()
	require.NotNil(t, kept)
	require.NoError(t, disk.Write(r.path, kept))
	require.Nil(t, r.snapshot(), "nothing new")

	r, err = recall(folder)
	require.NoError(t, err)
	same := seenNode(seenPod("b"))
	r.complete(same, at(60))
	require.Equal(t, at(1), same.LastPodEvent.UTC())
	require.Nil(t, r.snapshot())
	changed := seenNode(seenPod("c"))
	r.complete(changed, at(61))
	require.Equal(t, at(61), changed.LastPodEvent.UTC())
	require.NotNil(t, r.snapshot())
	r.only(nil)
	require.Empty(t, r.nodes)
	require.NotNil(t, r.snapshot(), "nodes that left are forgotten on the disk too")

	require.NoError(t, os.WriteFile(filepath.Join(folder, "seen.json"), []byte("{"), 0o600))
	r, err = recall(folder)
	require.ErrorContains(t, err, "seen.json")
	r.complete(seenNode(seenPod("a")), at(0))
	require.Len(t, r.nodes, 1, "what cannot be read is not known")
}

// A watcher writes down what it remembers, at the latest when it ends.
func TestAWatcherWritesDownWhatItRemembers(t *testing.T) {
	hub, m := listen(t), poolMember(t, "n1")
	folder := t.TempDir()
	put(t, m, web(2))
	_, stop := watch(t, hub.options(m), folder)
	n := hub.expect("n1", func(n *api.NodeState) bool { return len(n.Pods) == 2 })
	stop()
	r, err := recall(folder)
	require.NoError(t, err)
	require.Equal(t, n.UID, r.nodes["n1"].UID)
	require.Equal(t, active(n.Pods), r.nodes["n1"].Active)

	w, err := newWatcher(hub.options(m), folder)
	require.NoError(t, err)
	require.NoError(t, w.look(t.Context()))
	require.True(t, n.LastPodEvent.Equal(&w.nodes["n1"].state.LastPodEvent), "nothing happened meanwhile")
}
