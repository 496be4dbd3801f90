package nodes

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/core/api"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// A hub that purged the member, because it left and came back, is told everything again although the
// agent was connected all the time.
func TestWhatTheHubPurgedIsToldAgain(t *testing.T) {
	hub, m := listen(t), poolMember(t, "n1", "n2")
	o := hub.options(m)
	o.PollEvery = 200 * time.Millisecond
	startWatch(t, o, t.TempDir())
	hub.whole("n1", "n2")
	first, err := o.Hub.NodeInventory(t.Context())
	require.NoError(t, err)
	stream, err := hub.store.Conn.JS.Stream(t.Context(), hub.store.Conn.Fleet.Stream(subjects.Events))
	require.NoError(t, err)
	require.NoError(t, stream.Purge(t.Context()))
	bustest.Eventually(t, func() error {
		again, err := o.Hub.NodeInventory(t.Context())
		if err == nil && again.Sequence <= first.Sequence {
			return fmt.Errorf("the inventory is still %d", again.Sequence)
		}
		return err
	})
	for _, name := range []string{"n1", "n2"} {
		e, err := o.Hub.NodeEvent(t.Context(), name)
		require.NoError(t, err)
		require.Greater(t, e.Sequence, first.Sequence)
	}
	require.NoError(t, stream.Purge(t.Context(), jetstream.WithPurgeSubject(hub.store.Conn.Fleet.NodeInventory(watched))))
	bustest.Eventually(t, func() error { _, err := o.Hub.NodeInventory(t.Context()); return err })
}

// A broker that comes back from a backup lost the newest events: they are told again, and a node that had
// left leaves again.
func TestABrokerFromABackupIsToldAgain(t *testing.T) {
	backup, dir := t.TempDir(), ""
	hub := listen(t, func(o *server.Options) { dir = o.Dir })
	m := poolMember(t, "n1", "n2")
	o := hub.options(m)
	w, _ := startWatch(t, o, t.TempDir())
	hub.whole("n1", "n2")
	hub.server.Stop(t)
	bustest.CopyFolder(t, backup, dir)
	hub.server.Restart(t)
	relabel(t, m, "n1", "step", "1")
	require.True(t, m.RemoveNode("n2"))
	hub.whole("n1")
	hub.expect("n1", func(n *api.NodeState) bool { return n.Labels["step"] == "1" })
	bustest.Eventually(t, func() error {
		if n := w.unpublished(); n != 0 {
			return fmt.Errorf("%d nodes are not told", n)
		}
		return nil
	})

	hub.server.Stop(t)
	require.NoError(t, os.RemoveAll(dir))
	bustest.CopyFolder(t, dir, backup)
	hub.server.Restart(t)
	bustest.Eventually(t, func() error {
		e, err := o.Hub.NodeEvent(t.Context(), "n1")
		if err == nil && e.Node.Labels["step"] != "1" {
			err = errors.New("the broker has the state of the backup")
		}
		return err
	})
	bustest.Eventually(t, func() error {
		inventory, err := o.Hub.NodeInventory(t.Context())
		if _, listed := inventory.Nodes["n2"]; err == nil && listed {
			err = errors.New("the inventory is that of the backup")
		}
		return err
	})
}

// What an agent tells after it was started anew is newer than what it told before, even when its clock
// was set back meanwhile.
func TestAnAgentStartedAnewIsHeard(t *testing.T) {
	hub, m := listen(t), poolMember(t, "n1", "n2")
	o := hub.options(m)
	tomorrow := metav1.NewTime(elsewhen.Now().Add(24 * time.Hour))
	earlier := api.NodeEvent{Boot: "before", Sequence: 7, At: tomorrow, Node: api.NodeState{Name: "n1", UID: "old"}}
	require.NoError(t, o.Hub.PutNodeEvent(t.Context(), earlier))
	left := api.NodeEvent{Boot: "before", Sequence: 6, At: tomorrow, Node: api.NodeState{Name: "n0"}}
	require.NoError(t, o.Hub.PutNodeEvent(t.Context(), left))
	require.NoError(t, o.Hub.PutNodeInventory(t.Context(), api.NodeInventory{Boot: "before", Sequence: 8, At: tomorrow, Nodes: map[string]uint64{"n0": 6, "n1": 7}}))
	hub.whole("n0", "n1")
	_, stop := startWatch(t, o, t.TempDir())
	hub.whole("n1", "n2")
	stop()
	startWatch(t, o, t.TempDir())
	relabel(t, m, "n1", "step", "2")
	hub.expect("n1", func(n *api.NodeState) bool { return n.Labels["step"] == "2" })
	hub.whole("n1", "n2")
}

// Everything is told again every now and then, whatever the hub has.
func TestResync(t *testing.T) {
	hub, m := listen(t), poolMember(t, "n1")
	o := hub.options(m)
	o.Resync = 50 * time.Millisecond
	startWatch(t, o, t.TempDir())
	bustest.Eventually(t, func() error {
		events, inventories := 0, 0
		for _, h := range hub.messages() {
			if h.event != nil {
				events++
			} else {
				inventories++
			}
		}
		if events < 4 || inventories < 4 {
			return fmt.Errorf("%d events and %d inventories", events, inventories)
		}
		return nil
	})
	requireEventsFirst(t, hub.messages())
	require.Empty(t, hub.stale())
}

// Nodes whose state the broker does not take hold no others up; the hub is not told that it knows all.
func TestNodesThatAreNotTakenHoldNoOthersUp(t *testing.T) {
	hub, m := listen(t), poolMember(t, "a1", "a2", "a3", "a4", "z1", "z2")
	for i := range putters {
		put(t, m, fmt.Sprintf(`{apiVersion: v1, kind: Pod, metadata: {name: p%d, namespace: default}, spec: {nodeName: a%d, containers: [{name: a, image: i}], tolerations: %s}}`,
			i, i+1, tolerations(20<<10)))
	}
	limit := func(bytes int32) {
		stream, err := hub.store.Conn.JS.Stream(t.Context(), hub.store.Conn.Fleet.Stream(subjects.Events))
		require.NoError(t, err)
		config := stream.CachedInfo().Config
		config.MaxMsgSize = bytes
		_, err = hub.store.Conn.JS.UpdateStream(t.Context(), config)
		require.NoError(t, err)
	}
	limit(10 << 10)
	w, _ := startWatch(t, hub.options(m), t.TempDir())
	hub.expect("z1", func(*api.NodeState) bool { return true })
	hub.expect("z2", func(*api.NodeState) bool { return true })
	bustest.Eventually(t, func() error {
		if n := w.unpublished(); n != putters || w.trouble() == "" {
			return fmt.Errorf("%d nodes are not told, trouble %q", n, w.trouble())
		}
		return nil
	})
	require.Contains(t, w.trouble(), "the hub is not told the state of nodes: ")
	require.Equal(t, "the member has sent no inventory of its nodes yet", hub.stale())
	limit(1 << 20)
	hub.whole("a1", "a2", "a3", "a4", "z1", "z2")
	bustest.Eventually(t, func() error { return empty(w.trouble()) })
}
