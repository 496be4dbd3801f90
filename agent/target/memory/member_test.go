package memory

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"flotilla/agent/target"
	"flotilla/agent/target/memory/faults"
	"flotilla/core/api"
	"flotilla/core/apply"
	"flotilla/tests/elsewhen"
)

const (
	shop       = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, annotations: {flotilla.io/owner: web/u1}}}"
	deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, annotations: {flotilla.io/owner: web/u1}}
spec:
  replicas: 2
  template: {spec: {containers: [{name: a, image: "nginx:1", resources: {requests: {cpu: "1", memory: 1Gi}}}]}}
`
)

func TestObjectsLiveAsInAnAPIServer(t *testing.T) {
	m := New(Options{Name: "berlin", Clock: Running(elsewhen.Now)})
	_, err := m.Apply(t.Context(), target.Write{Object: object(t, deployment)})
	require.True(t, apierrors.IsNotFound(err), "a namespace that does not exist: %v", err)
	create(t, m, shop)
	first := create(t, m, deployment)
	require.EqualValues(t, 1, first.GetGeneration())
	require.NotEmpty(t, first.GetUID())

	_, err = m.Apply(t.Context(), target.Write{Object: object(t, deployment), Exclusive: true})
	require.True(t, apierrors.IsAlreadyExists(err), "%v", err)
	_, err = m.Apply(t.Context(), target.Write{Object: object(t, deployment), UID: "another"})
	require.True(t, apierrors.IsConflict(err), "%v", err)
	require.True(t, apierrors.IsConflict(m.Delete(t.Context(), target.Removal{ObjectRef: apply.RefOf(first), UID: "another"})))

	labelled := object(t, deployment)
	labelled.SetLabels(map[string]string{"a": "b"})
	second := replace(t, m, labelled, first)
	require.EqualValues(t, 1, second.GetGeneration(), "metadata does not count")
	require.Equal(t, first.GetUID(), second.GetUID())
	require.NotEqual(t, first.GetResourceVersion(), second.GetResourceVersion())
	third := replace(t, m, scaled(labelled, 3), first)
	require.EqualValues(t, 2, third.GetGeneration())

	owners, err := m.Owners(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"web/u1"}, owners)
	owned, err := m.Owned(t.Context(), "web/u1")
	require.NoError(t, err)
	require.Len(t, owned, 2)

	require.NoError(t, m.Delete(t.Context(), removal(t, m, "v1", "Namespace", "", "shop")))
	_, err = m.Get(t.Context(), apply.RefOf(first))
	require.True(t, apierrors.IsNotFound(err), "a namespace takes its content with it: %v", err)
	require.NoError(t, m.Delete(t.Context(), target.Removal{ObjectRef: apply.RefOf(first), UID: "gone"}))
	owners, err = m.Owners(t.Context())
	require.NoError(t, err)
	require.Empty(t, owners)
}

func TestWhatIsReadAndGivenIsACopy(t *testing.T) {
	m := New(Options{Name: "berlin", Clock: Running(elsewhen.Now)})
	given := object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: default}, data: {a: '1'}}")
	read, err := m.Apply(t.Context(), target.Write{Object: given})
	require.NoError(t, err)
	given.Object["data"].(map[string]any)["a"] = "2"
	read.Object["data"].(map[string]any)["a"] = "3"
	again, err := m.Get(t.Context(), apply.RefOf(read))
	require.NoError(t, err)
	require.Equal(t, map[string]any{"a": "1"}, again.Object["data"])
}

func TestWorkloadsBecomeAvailableAfterADelay(t *testing.T) {
	clock := &manualClock{now: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)}
	m := New(Options{Name: "berlin", Nodes: nodes("a", "b"), ReadyAfter: 10 * time.Second, Clock: clock})
	changes := m.Watch(t.Context())
	create(t, m, shop)
	live := create(t, m, deployment)
	expectReady(t, m, live, apply.NotYet, "0 of 2 available")
	drain(changes)
	clock.Advance(9 * time.Second)
	require.Empty(t, drain(changes))
	clock.Advance(time.Second)
	expectReady(t, m, live, apply.Available, "")
	require.Equal(t, []target.Change{{Owners: []string{"web/u1"}, Pods: true}}, drain(changes))

	grown := replace(t, m, scaled(live, 3), live)
	expectReady(t, m, grown, apply.NotYet, "2 of 3 available")
	changed := object(t, deployment)
	require.NoError(t, unstructured.SetNestedField(changed.Object, int64(1), "spec", "template", "spec", "priority"))
	replace(t, m, changed, live)
	expectReady(t, m, live, apply.NotYet, "0 of 2 available")
	clock.Advance(10 * time.Second)
	expectReady(t, m, live, apply.Available, "")
}

func TestEveryTrackedKindGetsThere(t *testing.T) {
	clock := &manualClock{now: time.Unix(0, 0)}
	m := New(Options{Name: "berlin", Nodes: nodes("a", "b"), ReadyAfter: time.Second, Clock: clock})
	pod := "template: {spec: {containers: [{name: a, image: i}]}}"
	var live []*unstructured.Unstructured
	for _, text := range []string{
		"{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: s, namespace: default}, spec: {replicas: 2, " + pod + "}}",
		"{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: d, namespace: default}, spec: {" + pod + "}}",
		"{apiVersion: v1, kind: Service, metadata: {name: lb, namespace: default}, spec: {type: LoadBalancer}}",
		"{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b, namespace: default}}",
		"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: w.example.org}}",
	} {
		live = append(live, create(t, m, text))
	}
	for _, o := range live {
		got, err := m.Get(t.Context(), apply.RefOf(o))
		require.NoError(t, err)
		readiness, _ := apply.Ready(got)
		require.Equal(t, apply.NotYet, readiness, o.GetKind())
	}
	clock.Advance(time.Second)
	for _, o := range live {
		expectReady(t, m, o, apply.Available, "")
	}
	service := create(t, m, "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: default}}")
	expectReady(t, m, service, apply.Available, "")
	again := replace(t, m, object(t, "{apiVersion: v1, kind: Service, metadata: {name: s, namespace: default}, spec: {ports: [{port: 80}]}}"), service)
	require.Equal(t, spec(service, "clusterIP"), spec(again, "clusterIP"))
}

func TestPodsNeedRoom(t *testing.T) {
	m := New(Options{Name: "berlin", Clock: Running(elsewhen.Now), Nodes: nodes("a")})
	create(t, m, shop)
	live := create(t, m, deployment)
	expectReady(t, m, live, apply.Available, "")
	require.Equal(t, "2", requested(t, m, "a", corev1.ResourceCPU))

	replace(t, m, scaled(live, 5), live)
	expectReady(t, m, live, apply.NotYet, "4 of 5 available: pods wait for room: 1 nodes, insufficient cpu")
	changes := m.Watch(t.Context())
	m.AddNode(nodes("b")[0])
	expectReady(t, m, live, apply.Available, "")
	require.Equal(t, "1", requested(t, m, "b", corev1.ResourceCPU))
	require.Contains(t, drain(changes), target.Change{Nodes: true})

	require.True(t, m.RemoveNode("a"))
	require.False(t, m.RemoveNode("a"))
	expectReady(t, m, live, apply.NotYet, "4 of 5 available: pods wait for room: 1 nodes, insufficient cpu")
	replace(t, m, scaled(live, 1), live)
	require.Equal(t, "1", requested(t, m, "b", corev1.ResourceCPU))
	require.NoError(t, m.Delete(t.Context(), removal(t, m, "apps/v1", "Deployment", "shop", "web")))
	require.Equal(t, "0", requested(t, m, "b", corev1.ResourceCPU))
	require.Equal(t, "0", requested(t, m, "b", corev1.ResourceMemory))
}

func TestRoomThatIsFreedIsTaken(t *testing.T) {
	m := New(Options{Name: "berlin", Clock: Running(elsewhen.Now), Nodes: nodes("a")})
	create(t, m, shop)
	first := create(t, m, deployment)
	replace(t, m, scaled(first, 4), first)
	other := object(t, deployment)
	other.SetName("other")
	waiting, err := m.Apply(t.Context(), target.Write{Object: other})
	require.NoError(t, err)
	expectReady(t, m, waiting, apply.NotYet, "0 of 2 available: pods wait for room: 1 nodes, insufficient cpu")
	replace(t, m, scaled(first, 2), first)
	expectReady(t, m, waiting, apply.Available, "")
}

func TestFaults(t *testing.T) {
	clock := &manualClock{now: time.Unix(0, 0)}
	m := New(Options{Name: "berlin", Nodes: nodes("a"), Clock: clock})
	create(t, m, shop)
	live := create(t, m, deployment)

	m.SetFaults(faults.Faults{Down: true})
	require.True(t, apierrors.IsServiceUnavailable(m.Ready(t.Context())))
	for name, call := range map[string]func() error{
		"Owners":     func() error { _, err := m.Owners(t.Context()); return err },
		"Owned":      func() error { _, err := m.Owned(t.Context(), "web/u1"); return err },
		"Get":        func() error { _, err := m.Get(t.Context(), apply.RefOf(live)); return err },
		"Apply":      func() error { _, err := m.Apply(t.Context(), target.Write{Object: live}); return err },
		"Delete":     func() error { return m.Delete(t.Context(), target.Removal{ObjectRef: apply.RefOf(live)}) },
		"Version":    func() error { _, err := m.Version(t.Context()); return err },
		"Nodes":      func() error { _, err := m.Nodes(t.Context()); return err },
		"Namespaces": func() error { _, err := m.Namespaces(t.Context()); return err },
	} {
		require.True(t, apierrors.IsServiceUnavailable(call()), name)
	}

	m.SetFaults(faults.Faults{Fail: []string{"Deployment"}, Stuck: []string{"Deployment/shop/web"}})
	_, err := m.Apply(t.Context(), target.Write{Object: live, UID: string(live.GetUID())})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.ErrorContains(t, err, "member berlin refuses Deployment/shop/web on request")
	expectReady(t, m, live, apply.NotYet, "0 of 2 available: back-off restarting failed container")

	m.SetFaults(faults.Faults{Slow: time.Minute})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = m.Apply(ctx, target.Write{Object: live, UID: string(live.GetUID())})
	require.ErrorIs(t, err, context.Canceled)
	done := make(chan error, 1)
	go func() {
		_, err := m.Apply(t.Context(), target.Write{Object: live, UID: string(live.GetUID())})
		done <- err
	}()
	clock.AwaitTimer(t)
	clock.Advance(time.Minute)
	require.NoError(t, <-done)

	m.SetFaults(faults.Faults{})
	require.NoError(t, m.Ready(t.Context()))
	expectReady(t, m, live, apply.Available, "")
}

func TestFaultsAsText(t *testing.T) {
	f, err := faults.Parse([]string{"down", "slow=2s", "fail=Deployment", "stuck=Deployment/shop/web"})
	require.NoError(t, err)
	require.Equal(t, faults.Faults{Down: true, Slow: 2 * time.Second, Fail: []string{"Deployment"}, Stuck: []string{"Deployment/shop/web"}}, f)
	require.Equal(t, "down slow=2s fail=Deployment stuck=Deployment/shop/web", f.String())
	require.Equal(t, "none", faults.Faults{}.String())
	for _, word := range []string{"up", "down=now", "slow", "slow=-1s", "slow=soon", "fail="} {
		_, err := faults.Parse([]string{word})
		require.ErrorContains(t, err, word)
	}
}

func TestHistory(t *testing.T) {
	m := New(Options{Name: "berlin", Clock: Running(elsewhen.Now)})
	require.Empty(t, m.History(0), "what every member has is not the agent's work")
	create(t, m, shop)
	live := create(t, m, deployment)
	from := target.Origin{Owner: "web/u1", Order: api.Order{Term: 1, Generation: 2}, Generation: 3, Snapshot: 4}
	_, err := m.Apply(t.Context(), target.Write{Object: scaled(live, 3), UID: string(live.GetUID()), Origin: from})
	require.NoError(t, err)
	disowned := scaled(live, 3)
	disowned.SetAnnotations(nil)
	_, err = m.Apply(t.Context(), target.Write{Object: disowned, UID: string(live.GetUID()), Disown: true})
	require.NoError(t, err)
	require.NoError(t, m.Delete(t.Context(), removal(t, m, "apps/v1", "Deployment", "shop", "web")))
	require.True(t, m.Edit(api.ObjectRef{APIVersion: "v1", Kind: "Namespace", Name: "shop"}, func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"x": "y"}) }))
	require.True(t, m.Remove(api.ObjectRef{APIVersion: "v1", Kind: "Namespace", Name: "shop"}))
	m.Plant(object(t, shop))

	var lines []string
	for _, o := range m.History(1) {
		lines = append(lines, o.String())
	}
	require.Equal(t, []string{
		"2 create Deployment/shop/web by  generation 0",
		"3 replace Deployment/shop/web by web/u1 generation 3",
		"4 disown Deployment/shop/web by  generation 0",
		"5 delete Deployment/shop/web by  generation 0",
	}, lines)
	require.Equal(t, from, m.History(2)[0].Origin)
	require.Equal(t, []int64{1, 2, 2, 2}, []int64{m.History(1)[0].Content, m.History(2)[0].Content, m.History(3)[0].Content, m.History(4)[0].Content})
}

func TestWatchEndsWithItsContext(t *testing.T) {
	m := New(Options{Name: "berlin", Clock: Running(elsewhen.Now)})
	ctx, cancel := context.WithCancel(t.Context())
	changes := m.Watch(ctx)
	cancel()
	for range changes {
	}
	create(t, m, shop)
}

func nodes(names ...string) []target.Node {
	var out []target.Node
	for _, name := range names {
		out = append(out, target.Node{Name: name, Capacity: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"),
		}})
	}
	return out
}

func object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	body, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	out := &unstructured.Unstructured{}
	require.NoError(t, out.UnmarshalJSON(body))
	return out
}

func create(t *testing.T, m *Member, text string) *unstructured.Unstructured {
	t.Helper()
	live, err := m.Apply(t.Context(), target.Write{Object: object(t, text)})
	require.NoError(t, err)
	return live
}

func replace(t *testing.T, m *Member, o, live *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	out, err := m.Apply(t.Context(), target.Write{Object: o, UID: string(live.GetUID())})
	require.NoError(t, err)
	return out
}

func scaled(o *unstructured.Unstructured, replicas int64) *unstructured.Unstructured {
	out := o.DeepCopy()
	setSpec(out, "replicas", replicas)
	return out
}

func spec(o *unstructured.Unstructured, field string) any {
	return o.Object["spec"].(map[string]any)[field]
}

func removal(t *testing.T, m *Member, apiVersion, kind, namespace, name string) target.Removal {
	t.Helper()
	ref := api.ObjectRef{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name}
	live, err := m.Get(t.Context(), ref)
	require.NoError(t, err)
	return target.Removal{ObjectRef: ref, UID: string(live.GetUID())}
}

func expectReady(t *testing.T, m *Member, o *unstructured.Unstructured, want apply.Readiness, message string) {
	t.Helper()
	live, err := m.Get(t.Context(), apply.RefOf(o))
	require.NoError(t, err)
	got, text := apply.Ready(live)
	require.Equal(t, want, got)
	require.Equal(t, message, text)
}

func requested(t *testing.T, m *Member, name string, what corev1.ResourceName) string {
	t.Helper()
	list, err := m.Nodes(t.Context())
	require.NoError(t, err)
	for _, n := range list {
		if n.Name == name {
			q := n.Requested[what]
			return q.String()
		}
	}
	t.Fatalf("no node %s", name)
	return ""
}

func drain(changes <-chan target.Change) []target.Change {
	var out []target.Change
	for {
		select {
		case c := <-changes:
			out = append(out, c)
		default:
			return out
		}
	}
}

// manualClock is a clock that a test moves.
type manualClock struct {
	mu     sync.Mutex
	now    time.Time
	timers []*manualTimer
}

type manualTimer struct {
	at time.Time
	f  func()
}

func (c *manualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *manualClock) AfterFunc(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	timer := &manualTimer{at: c.now.Add(d), f: f}
	c.timers = append(c.timers, timer)
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for i := range c.timers {
			if c.timers[i] == timer {
				c.timers = append(c.timers[:i], c.timers[i+1:]...)
				return true
			}
		}
		return false
	}
}

func (c *manualClock) Advance(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	var due, later []*manualTimer
	for _, timer := range c.timers {
		if timer.at.After(c.now) {
			later = append(later, timer)
		} else {
			due = append(due, timer)
		}
	}
	c.timers = later
	c.mu.Unlock()
	for _, timer := range due {
		timer.f()
	}
}

// AwaitTimer waits until somebody waits for the clock.
func (c *manualClock) AwaitTimer(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.timers) > 0
	}, 10*time.Second, time.Millisecond)
}
