package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"flotilla/agent/target"
	targetmemory "flotilla/agent/target/memory"
	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/bus/store"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/core/cluster"
	"flotilla/tests/elsewhen"
)

const watched = "berlin"

// heard is one message as the hub got it.
type heard struct {
	event     *api.NodeEvent
	inventory *api.NodeInventory
	stored    time.Time
}

// ear is the hub: it follows the stream and folds it into a view.
type ear struct {
	t      *testing.T
	server *bustest.Server
	store  *store.Store
	feed   *watch.NodeFeed

	mu    sync.Mutex
	view  *cluster.View
	heard []heard
}

func (e *ear) Node(_, _ string, state watch.Stored, stored time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var event api.NodeEvent
	if body, err := state.JSON(); err != nil || json.Unmarshal(body, &event) != nil {
		return
	}
	e.view.Event(&event)
	e.heard = append(e.heard, heard{event: &event, stored: stored})
}

func (e *ear) Inventory(_ string, stored watch.Stored, _ time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var inventory api.NodeInventory
	if body, err := stored.JSON(); err != nil || json.Unmarshal(body, &inventory) != nil {
		return
	}
	e.view.Inventory(&inventory)
	e.heard = append(e.heard, heard{inventory: &inventory})
}

func (e *ear) NodeGone(_, _ string) {}

func (e *ear) InventoryGone(_ string) {}
func (e *ear) Listed()                {}

// listen starts a hub on a server.
func listen(t *testing.T, change ...func(*server.Options)) *ear {
	t.Helper()
	server := bustest.Start(t, change...)
	e := &ear{t: t, server: server, store: server.Lead(t), view: cluster.NewView()}
	e.feed = watch.NewNodeFeed(e.store.Conn, e)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { e.feed.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return e
}

// stale is why the hub would not act on its view.
func (e *ear) stale() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.view.Stale(elsewhen.Now(), time.Hour)
}

// node is what the hub knows of a node.
func (e *ear) node(name string) (api.NodeState, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, ok := e.view.Cluster.Node(name)
	if !ok {
		return api.NodeState{}, false
	}
	return *n, true
}

// messages are those heard so far.
func (e *ear) messages() []heard {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]heard{}, e.heard...)
}

// newest is the newest event and the newest inventory heard of a node.
func (e *ear) newest(node string) (event *api.NodeEvent, inventory *api.NodeInventory) {
	for _, h := range e.messages() {
		if h.inventory != nil {
			inventory = h.inventory
		} else if h.event.Node.Name == node {
			event = h.event
		}
	}
	return event, inventory
}

// whole waits until the hub may act on its view of all the nodes named.
func (e *ear) whole(names ...string) {
	e.t.Helper()
	bustest.Eventually(e.t, func() error {
		if why := e.stale(); why != "" {
			return errors.New(why)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if got := e.view.Cluster.Names(); fmt.Sprint(got) != fmt.Sprint(names) {
			return fmt.Errorf("the hub knows nodes %v, expected %v", got, names)
		}
		return nil
	})
}

// expect waits until what the hub knows of a node holds.
func (e *ear) expect(name string, holds func(n *api.NodeState) bool) api.NodeState {
	e.t.Helper()
	var last api.NodeState
	bustest.Eventually(e.t, func() error {
		n, ok := e.node(name)
		if last = n; !ok || !holds(&n) {
			return fmt.Errorf("node %s (known: %v) is %+v", name, ok, n)
		}
		return nil
	})
	return last
}

// options are those of a reporter in tests, connected to the hub's server.
func (e *ear) options(m target.Nodes) *Options {
	return &Options{
		Member: watched, Hub: e.server.Agent(e.t, watched), Target: m, Interval: 20 * time.Millisecond, Resync: time.Hour,
		PollEvery: time.Minute, Log: zerolog.Nop(),
	}
}

// startWatch runs a reporter; the returned function stops it and waits.
func startWatch(t *testing.T, o *Options, folder string) (*reporter, func()) {
	t.Helper()
	w, err := newReporter(o, folder)
	require.NoError(t, err)
	return w, bustest.InBackground(t, w.run)
}

// poolMember is a member in memory with nodes of NodePool "default" of 4 CPUs each.
func poolMember(t *testing.T, names ...string) *targetmemory.Member {
	t.Helper()
	o := targetmemory.Options{Clock: targetmemory.Running(elsewhen.Now), Name: watched}
	for _, name := range names {
		o.Nodes = append(o.Nodes, poolNode(t, name))
	}
	m := targetmemory.New(o)
	t.Cleanup(m.Close)
	return m
}

func poolNode(t *testing.T, name string) target.Node {
	t.Helper()
	n, err := target.NewNode(name, "4", "16Gi")
	require.NoError(t, err)
	n.NodePool, n.CapacityType, n.Zone, n.InstanceType = "default", "on-demand", "z-a", "d4"
	return n
}

// put writes an object of YAML to the member.
func put(t testing.TB, m *targetmemory.Member, text string) *unstructured.Unstructured {
	t.Helper()
	body, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	object := &unstructured.Unstructured{}
	require.NoError(t, object.UnmarshalJSON(body)) // whole numbers stay whole
	made, err := m.Apply(t.Context(), target.Write{Object: object})
	require.NoError(t, err)
	return made
}

// relabel sets a label of a node.
func relabel(t *testing.T, m *targetmemory.Member, node, key, value string) {
	t.Helper()
	require.NoError(t, m.UpdateNode(t.Context(), node, func(n *corev1.Node) { n.Labels[key] = value }))
}

// remove deletes an object of the member.
func remove(t *testing.T, m *targetmemory.Member, o *unstructured.Unstructured) {
	t.Helper()
	require.NoError(t, m.Delete(t.Context(), target.Removal{
		ObjectRef: api.ObjectRef{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}, UID: string(o.GetUID()),
	}))
}

// web is a Deployment of so many pods of 1 CPU.
func web(replicas int) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: %d
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: a, image: "nginx:1", resources: {requests: {cpu: "1"}}}]}}
`, replicas)
}

// tolerations are a YAML list with keys of n letters together, none longer than one text may be, that do not compress to less than two thirds.
func tolerations(n int) string {
	const length = 2 << 10
	r := rand.New(rand.NewPCG(uint64(n), 7))
	keys := make([]string, n/length)
	for i := range keys {
		key := make([]byte, length)
		for j := range key {
			key[j] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[r.IntN(64)]
		}
		keys[i] = "{key: n" + string(key) + "}"
	}
	return "[" + strings.Join(keys, ", ") + "]"
}
