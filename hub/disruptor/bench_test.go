package disruptor

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/tests/elsewhen"
)

// crowded is the event of a node with ten pods of workloads, as agents tell of it.
func crowded(t testing.TB, node int) (name string, body []byte) {
	t.Helper()
	name = fmt.Sprintf("aks-general-31376517-vmss%06x", node)
	n := aNode(name, "general", 8)
	seconds := int64(300)
	for i := range 10 {
		app := fmt.Sprintf("app-%d", (node+i)%200)
		set := fmt.Sprintf("%s-7d9c5b8f%02d", app, (node+i)%200)
		n.Pods = append(n.Pods, api.PodState{
			Namespace: fmt.Sprintf("team-%d", (node+i)%40), Name: fmt.Sprintf("%s-%05x", set, node*10+i), UID: fmt.Sprintf("7b1c1f0e-2f6c-4c9e-9a53-%012x", node*10+i),
			Owner: "ReplicaSet", OwnerName: set, Phase: "Running", Created: metav1.NewTime(elsewhen.Now()), Started: metav1.NewTime(elsewhen.Now()),
			Labels: map[string]string{
				"app.kubernetes.io/name": app, "app.kubernetes.io/instance": app, "pod-template-hash": fmt.Sprintf("7d9c5b8f%02d", (node+i)%200), "team": fmt.Sprintf("team-%d", (node+i)%40),
			},
			Requests: api.Amounts{"cpu": 100 * int64(1+i%5), "memory": 1 << 28},
			Tolerations: []corev1.Toleration{
				{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds},
				{Key: "node.kubernetes.io/unreachable", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds},
			},
		})
	}
	body, err := json.Marshal(api.NodeEvent{Header: api.NewHeader(api.KindNodeEvent), Member: "berlin", Boot: "b", Sequence: 1, At: metav1.NewTime(elsewhen.Now()), Node: n})
	require.NoError(t, err)
	return name, body
}

// unrun is a disruptor that a test drives, with a NodePool unless there is to be none.
func unrun(t testing.TB, pooled bool) *Disruptor {
	t.Helper()
	h := newHarness(t, Options{}, "berlin")
	h.stop()
	if pooled {
		h.pool("general", "0")
		bustest.Eventually(t, func() error {
			if !h.room.pooled() {
				return errors.New("there is no NodePool")
			}
			return nil
		})
	}
	return h.room
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // what pools keep lasts for one
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A pod takes at most 2 KB of memory in the view of its member: 100 members of 1,000 nodes fit in one hub.
func TestMemoryOfAPod(t *testing.T) {
	const nodes = 2000
	d := unrun(t, true)
	before := heap()
	for i := range nodes {
		name, body := crowded(t, i)
		sink{d}.Node("berlin", name, watch.NewStored(body, bus.NodeBounds, 1), time.Time{})
	}
	m := d.roster.get("berlin")
	d.fold(m)
	require.Equal(t, nodes*10, m.View.Cluster.Pods())
	perPod := float64(heap()-before) / (nodes * 10)
	t.Logf("%.0f bytes a pod, its part of the node included", perPod)
	require.Less(t, perPod, 2048.)
	runtime.KeepAlive(d)
}

// Of members that nobody asks for, a pod takes little more than it does in the stream.
func TestMemoryOfAPodThatNobodyAsksFor(t *testing.T) {
	const nodes = 2000
	d := unrun(t, false)
	packed := func(i int) (name string, body []byte) {
		name, body = crowded(t, i)
		body, err := bus.NodeBounds.Pack(body)
		require.NoError(t, err)
		return name, body
	}
	packed(0)
	before := heap()
	for i := range nodes {
		name, body := packed(i)
		sink{d}.Node("berlin", name, watch.NewStored(body, bus.NodeBounds, 1), time.Time{})
	}
	m := d.roster.get("berlin")
	m.Lift()
	perPod := float64(heap()-before) / (nodes * 10)
	t.Logf("%.0f bytes a pod, its part of the node included", perPod)
	require.Less(t, perPod, 512.)
	require.Zero(t, m.View.Cluster.Pods())
	runtime.KeepAlive(d)
}

// BenchmarkEvents is how fast states of nodes with ten pods are read and folded.
func BenchmarkEvents(b *testing.B) {
	d := unrun(b, true)
	names, bodies := make([]string, 1000), make([][]byte, 1000)
	for i := range names {
		names[i], bodies[i] = crowded(b, i)
	}
	m := d.roster.get("berlin")
	b.ReportAllocs()
	b.SetBytes(int64(len(bodies[0])))
	for i := 0; b.Loop(); i++ {
		sink{d}.Node("berlin", names[i%1000], watch.NewStored(bodies[i%1000], bus.NodeBounds, 1), time.Time{})
		d.fold(m)
	}
}

// toldAnew is an event as an agent encodes it that was started anew.
func toldAnew(t testing.TB, n api.NodeState, boot string) []byte {
	t.Helper()
	body, err := json.Marshal(api.NodeEvent{
		Header: api.NewHeader(api.KindNodeEvent), Member: "berlin", Boot: boot, Sequence: 1, At: metav1.NewTime(elsewhen.Now()), Node: n,
	})
	require.NoError(t, err)
	return body
}

// stored has the feed deliver a state of a node of berlin as it is stored.
func (h *harness) stored(node string, body []byte) {
	h.t.Helper()
	sink{h.room}.Node("berlin", node, watch.NewStored(body, bus.NodeBounds, 1), time.Time{})
}
