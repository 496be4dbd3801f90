package nodes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/agent/target"
	targetmemory "flotilla/agent/target/memory"
	"flotilla/agent/target/memory/faults"
	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/core/cluster"
	"flotilla/tests/elsewhen"
)

// The hub sees every node with its pods as the member has them, and everything an inventory counts comes
// before it.
func TestTheStateOfAMemberIsTold(t *testing.T) {
	hub, m := listen(t), poolMember(t, "n1", "n2")
	put(t, m, web(9)) // one more than there is room for
	put(t, m, "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web, namespace: default}, spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}}")
	startWatch(t, hub.options(m), t.TempDir())
	hub.whole("n1", "n2")

	s, err := m.Survey(t.Context())
	require.NoError(t, err)
	want := cluster.Observe(listing(s))
	for _, n := range want.Nodes {
		got := hub.expect(n.Name, func(got *api.NodeState) bool { return len(got.Pods) == 4 })
		require.Equal(t, n.UID, got.UID)
		require.Equal(t, n.Labels, got.Labels)
		require.Equal(t, n.Allocatable, got.Allocatable)
		require.True(t, got.Managed && got.Initialized && got.Ready)
		for i := range n.Pods {
			require.Equal(t, n.Pods[i].UID, got.Pods[i].UID)
		}
	}
	bustest.Eventually(t, func() error {
		_, inventory := hub.newest("")
		if inventory == nil || len(inventory.Pending) != 1 || len(inventory.Budgets) != 1 {
			return fmt.Errorf("the newest inventory is %+v", inventory)
		}
		return nil
	})
	requireEventsFirst(t, hub.messages())
}

// requireEventsFirst checks that each event an inventory counts, or a later one of the node, came first.
func requireEventsFirst(t *testing.T, messages []heard) {
	t.Helper()
	seen := map[string]uint64{}
	for _, h := range messages {
		if h.inventory == nil {
			seen[h.event.Node.Name] = h.event.Sequence
			continue
		}
		require.NotEmpty(t, h.inventory.Nodes)
		for name, sequence := range h.inventory.Nodes {
			require.GreaterOrEqual(t, seen[name], sequence, "node %s", name)
		}
	}
}

// looked is a member that knows what the last look at it saw.
type looked struct {
	*targetmemory.Member
	step atomic.Value
}

func (l *looked) Survey(ctx context.Context) (*target.Survey, error) {
	s, err := l.Member.Survey(ctx)
	if err == nil {
		l.step.Store(s.Nodes[0].Labels["step"])
	}
	return s, err
}

// However often a node changes there are not more events than the interval allows, and the last one is of
// the newest state.
func TestEventsKeepTheInterval(t *testing.T) {
	hub, m := listen(t), &looked{Member: poolMember(t, "n1")}
	o := hub.options(m)
	o.Interval = 150 * time.Millisecond
	w, _ := startWatch(t, o, t.TempDir())
	hub.whole("n1")
	for i := range 12 {
		step := fmt.Sprint(i)
		relabel(t, m.Member, "n1", "step", step)
		w.wake() // looks at once, where a change would be gathered with others
		bustest.Eventually(t, func() error {
			if got := m.step.Load(); got != step {
				return fmt.Errorf("the agent saw step %q", got)
			}
			return nil
		})
		if i%4 == 0 {
			hub.expect("n1", func(n *api.NodeState) bool { return n.Labels["step"] == step })
		}
	}
	hub.expect("n1", func(n *api.NodeState) bool { return n.Labels["step"] == "11" })
	var last time.Time
	events := 0
	for _, h := range hub.messages() {
		if h.event != nil {
			require.GreaterOrEqual(t, h.stored.Sub(last), o.Interval)
			last = h.stored
			events++
		}
	}
	require.GreaterOrEqual(t, events, 4)
}

// A node that leaves is told to be gone, and an inventory without it follows.
func TestANodeThatLeavesIsToldToBeGone(t *testing.T) {
	hub, m := listen(t), poolMember(t, "n1", "n2")
	w, _ := startWatch(t, hub.options(m), t.TempDir())
	hub.whole("n1", "n2")
	require.True(t, m.RemoveNode("n1"))
	hub.whole("n2")
	bustest.Eventually(t, func() error {
		event, inventory := hub.newest("n1")
		if _, listed := inventory.Nodes["n1"]; listed || !event.Gone {
			return fmt.Errorf("event %+v, inventory of %v", event, inventory.Nodes)
		}
		return nil
	})
	m.AddNode(poolNode(t, "n1"))
	hub.whole("n1", "n2")
	bustest.Eventually(t, func() error {
		if n := w.unpublished(); n != 0 {
			return fmt.Errorf("%d nodes are not told", n)
		}
		return nil
	})
}

// What is flushed is stored when the call returns, whatever the interval; so is the end of a node, also
// of one that this process never saw.
func TestFlush(t *testing.T) {
	hub, m := listen(t), poolMember(t, "n1", "n2")
	o := hub.options(m)
	o.Interval = time.Hour
	w, _ := startWatch(t, o, t.TempDir())
	hub.whole("n1", "n2")
	relabel(t, m, "n1", "step", "1")
	require.NoError(t, w.flush(t.Context(), "n1"))
	e, err := o.Hub.NodeEvent(t.Context(), "n1")
	require.NoError(t, err)
	require.Equal(t, "1", e.Node.Labels["step"])
	again, err := o.Hub.NodeEvent(t.Context(), "n1")
	require.NoError(t, err)
	require.NoError(t, w.flush(t.Context(), "n1"))
	require.Equal(t, e.Sequence, again.Sequence, "what is stored is not stored again")

	require.True(t, m.RemoveNode("n1"))
	for _, name := range []string{"n1", "never-seen"} {
		require.NoError(t, w.flush(t.Context(), name))
		e, err = o.Hub.NodeEvent(t.Context(), name)
		require.NoError(t, err)
		require.True(t, e.Gone)
	}
	hub.server.Stop(t)
	bustest.Eventually(t, func() error {
		if o.Hub.Connected() {
			return errors.New("still connected")
		}
		return nil
	})
	relabel(t, m, "n2", "step", "2")
	require.Error(t, w.flush(t.Context(), "n2"), "the hub is away")
	require.Equal(t, 1, w.unpublished())
}

// What changed while the hub was away is told when it is back, and nothing else.
func TestWhatChangedWhileTheHubWasAwayIsTold(t *testing.T) {
	hub, m := listen(t), poolMember(t, "n1", "n2", "n3")
	o := hub.options(m)
	w, _ := startWatch(t, o, t.TempDir())
	hub.whole("n1", "n2", "n3")
	untouched, err := o.Hub.NodeEvent(t.Context(), "n2")
	require.NoError(t, err)

	hub.server.Stop(t)
	relabel(t, m, "n1", "step", "1")
	require.True(t, m.RemoveNode("n3"))
	m.AddNode(poolNode(t, "n4"))
	bustest.Eventually(t, func() error {
		if n := w.unpublished(); n != 3 {
			return fmt.Errorf("%d nodes are not told, expected 3", n)
		}
		return nil
	})
	hub.server.Restart(t)
	hub.whole("n1", "n2", "n4")
	hub.expect("n1", func(n *api.NodeState) bool { return n.Labels["step"] == "1" })
	after, err := o.Hub.NodeEvent(t.Context(), "n2")
	require.NoError(t, err)
	require.Equal(t, untouched.Sequence, after.Sequence, "what the hub has is not told again")
	require.Empty(t, w.trouble())
}

// Of a member that cannot be read no inventory is told any more, so that the hub sees it grow old.
func TestAMemberThatCannotBeRead(t *testing.T) {
	hub, m := listen(t), poolMember(t, "n1")
	o := hub.options(m)
	o.Resync = 100 * time.Millisecond
	w, _ := startWatch(t, o, t.TempDir())
	hub.whole("n1")
	down, err := faults.Parse([]string{"down"})
	require.NoError(t, err)
	m.SetFaults(down)
	w.wake()
	bustest.Eventually(t, func() error {
		if text := w.trouble(); text == "" {
			return errors.New("no trouble")
		}
		return nil
	})
	require.Contains(t, w.trouble(), "the nodes of the member cannot be read")
	before, inventory := hub.newest("n1")
	bustest.Eventually(t, func() error {
		if now, _ := hub.newest("n1"); now.Sequence < before.Sequence+4 {
			return errors.New("the node was not told again")
		}
		return nil
	})
	_, after := hub.newest("n1")
	require.Equal(t, inventory.Sequence, after.Sequence, "an inventory told now would be taken for fresh")
	m.SetFaults(faults.Faults{})
	bustest.Eventually(t, func() error { return empty(w.trouble()) })
	relabel(t, m, "n1", "step", "1")
	hub.expect("n1", func(n *api.NodeState) bool { return n.Labels["step"] == "1" })
}

func empty(text string) error {
	if text != "" {
		return errors.New(text)
	}
	return nil
}

// A state that is too large is told to be so, which keeps the hub from acting; it is told in full once it
// is small enough.
func TestStatesThatAreTooLarge(t *testing.T) {
	hub, m := listen(t), poolMember(t, "n1", "n2")
	noisy := func(name, cpu string) *unstructured.Unstructured {
		o := put(t, m, fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: default}, spec: {containers: [{name: a, image: i, resources: {requests: {cpu: "%s"}}}], tolerations: %s}}`,
			name, cpu, tolerations(2*bus.MaxNodeEvent)))
		return o
	}
	running, waiting := noisy("running", "1"), noisy("waiting", "100")
	w, _ := startWatch(t, hub.options(m), t.TempDir())
	bustest.Eventually(t, func() error {
		if why := hub.stale(); why == "" || why != w.trouble() {
			return fmt.Errorf("the hub says %q, the agent %q", why, w.trouble())
		}
		return nil
	})
	require.Regexp(t, `^what the member has beside its nodes cannot be told \(.*at most 921600\); no node of the member is disrupted until it is smaller$`, hub.stale())
	remove(t, m, waiting)
	bustest.Eventually(t, func() error {
		if why := hub.stale(); !strings.HasPrefix(why, "node n1: its state with 1 pods cannot be told") || why != w.trouble() {
			return fmt.Errorf("the hub says %q, the agent %q", why, w.trouble())
		}
		return nil
	})
	reduced, _ := hub.node("n1")
	require.Equal(t, map[string]string{api.LabelNodePool: "default"}, reduced.Labels)
	require.True(t, reduced.Managed)
	remove(t, m, running)
	hub.whole("n1", "n2")
	bustest.Eventually(t, func() error { // the agent notes it once the hub was told
		if why := w.trouble(); why != "" {
			return errors.New(why)
		}
		return nil
	})
	hub.expect("n1", func(n *api.NodeState) bool { return n.Allocatable["cpu"] == 4000 && len(n.Pods) == 0 })
}

// The interval of a node that is busy does not keep a pod out of sight: until its node is told, a pod that
// was told to be pending stays so.
func TestPodsAreAlwaysSomewhere(t *testing.T) {
	hub, m := listen(t), poolMember(t, "n1")
	o := hub.options(m)
	o.Interval = 60 * time.Millisecond
	startWatch(t, o, t.TempDir())
	hub.whole("n1")
	put(t, m, web(5))
	bustest.Eventually(t, func() error {
		if _, inventory := hub.newest(""); len(inventory.Pending) != 1 {
			return fmt.Errorf("pending are %v", inventory.Pending)
		}
		return nil
	})
	m.AddNode(poolNode(t, "n2"))
	hub.expect("n2", func(n *api.NodeState) bool { return len(n.Pods) == 1 })
	bustest.Eventually(t, func() error {
		if _, inventory := hub.newest(""); len(inventory.Pending) != 0 {
			return fmt.Errorf("pending are %v", inventory.Pending)
		}
		return nil
	})
	onNode, pending := map[string]bool{}, 0
	for _, h := range hub.messages() {
		if h.event != nil && h.event.Node.Name == "n2" {
			onNode["n2"] = len(h.event.Node.Pods) == 1
		}
		if h.inventory != nil {
			if pending == 1 && len(h.inventory.Pending) == 0 {
				require.True(t, onNode["n2"], "the inventory lost a pod that no event has")
			}
			pending = len(h.inventory.Pending)
		}
	}
}

// The label that a node is initialised is watched, and so is its time.
func TestInitializedSince(t *testing.T) {
	hub, m := listen(t), poolMember(t, "n1")
	require.NoError(t, m.UpdateNode(t.Context(), "n1", func(n *corev1.Node) { delete(n.Labels, api.LabelInitialized) }))
	startWatch(t, hub.options(m), t.TempDir())
	hub.expect("n1", func(n *api.NodeState) bool { return !n.Initialized })
	before := elsewhen.Now().Truncate(time.Second)
	relabel(t, m, "n1", api.LabelInitialized, "true")
	n := hub.expect("n1", func(n *api.NodeState) bool { return n.Initialized })
	require.False(t, n.Since.Time.Before(before), "since %s, initialised after %s", n.Since, before)
}
