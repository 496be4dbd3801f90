package orchestration_test

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
	"flotilla/core/orchestration"
	"flotilla/core/simulate/simulatetest"
)

// stamped puts a stamp on a node that needs it.
func stamped(n *api.NodeState, stamp api.PoolStamp) {
	if n.Annotations == nil {
		n.Annotations = map[string]string{}
	}
	if !capacity.Stamped(n.Annotations, &stamp) {
		capacity.Stamp(n.Annotations, &stamp)
	}
}

// What a node carries once it was stamped for a pool, by what it carried before.
func TestStamp(t *testing.T) {
	stamp := api.PoolStamp{Pool: "a", Hash: "h2", ClassHash: "c2"}
	ours := func(pool, hash, class string) map[string]string {
		out := map[string]string{api.AnnotationPoolHash: hash, api.AnnotationPoolHashLevel: capacity.PoolHashLevel, api.AnnotationStampedPool: pool}
		if class != "" {
			out[api.AnnotationClassHash] = class
		}
		return out
	}
	karpenters := map[string]string{api.AnnotationPoolHash: "123", api.AnnotationPoolHashLevel: "v3"}
	for name, row := range map[string]struct {
		carries, want map[string]string
	}{
		"nothing":                      {map[string]string{}, ours("a", "h2", "c2")},
		"an older stamp":               {ours("a", "h1", "c1"), ours("a", "h1", "c1")},
		"a stamp without a node class": {ours("a", "h1", ""), ours("a", "h1", "c2")},
		"that of another pool":         {ours("b", "h1", "c1"), ours("a", "h2", "c2")},
		"Karpenter's hash":             {karpenters, karpenters},
	} {
		t.Run(name, func(t *testing.T) {
			n := &api.NodeState{Annotations: maps.Clone(row.carries)}
			stamped(n, stamp)
			require.Equal(t, row.want, n.Annotations)
			require.True(t, capacity.Stamped(n.Annotations, &stamp), "once is enough")
		})
	}
}

// A node that nobody launched is stamped when it is first seen, and drifts by a later edit of the pool's
// template (N21); so does it when it comes back after a while, and when its pool was made again.
func TestAdoptedNodesDriftByALaterEdit(t *testing.T) {
	node := simulatetest.Node("n1", "d2", "z-a", "a", simulatetest.Pod("p", 100))
	kept := func(p *api.NodePool) { p.Spec.Disruption.ConsolidateAfter = api.Never }
	pool := simulatetest.Pool("a", kept)
	s := newStepper([]*api.NodeState{node}, pool)
	node.Annotations = nil
	require.Equal(t, []api.PoolStamp{{Pool: "a", Hash: capacity.PoolHash(pool)}}, s.step(0).Record.Stamps)
	require.Empty(t, s.in.Record.DriftedSince)
	stamped(node, s.in.Record.Stamps[0])
	require.Empty(t, s.step(time.Minute).Record.Stamps)
	require.False(t, s.step(2*time.Minute).Changed)

	again := simulatetest.Pool("a", kept, func(p *api.NodePool) { p.UID = "another" })
	s.f.Pools = []*api.NodePool{again}
	s.step(3 * time.Minute)
	require.Empty(t, s.in.Record.DriftedSince, "made again as it was")

	s.f.Pools = nil
	require.Empty(t, s.step(4*time.Minute).Record.Stamps)
	s.f.Pools = []*api.NodePool{simulatetest.Pool("a", kept, simulatetest.Tainted("x", corev1.TaintEffectPreferNoSchedule))}
	edited := s.step(5 * time.Minute)
	require.Contains(t, s.in.Record.DriftedSince, "n1")
	require.Equal(t, disruption.DriftPool, edited.Decision.Verdicts[0].Drift)
	require.Empty(t, edited.Record.Stamps, "what was stamped once stays")
}

// Which nodes ask for a stamp.
func TestWhoIsStamped(t *testing.T) {
	young := func(n *api.NodeState) { n.Initialized = false }
	going := func(n *api.NodeState) { n.Deleting = true }
	leaving := func(p *api.NodePool) { p.DeletionTimestamp = &metav1.Time{Time: simulatetest.Now} }
	for name, row := range map[string]struct {
		node func(*api.NodeState)
		pool func(*api.NodePool)
		want bool
	}{
		"one that is up":           {func(*api.NodeState) {}, func(*api.NodePool) {}, true},
		"one that is not up":       {young, func(*api.NodePool) {}, false},
		"one that goes":            {going, func(*api.NodePool) {}, false},
		"of a pool that goes":      {func(*api.NodeState) {}, leaving, false},
		"of a pool nobody knows":   {func(n *api.NodeState) { n.Labels[api.LabelNodePool] = "b" }, func(*api.NodePool) {}, false},
		"one with Karpenter's own": {func(n *api.NodeState) { n.Annotations = map[string]string{api.AnnotationPoolHash: "1"} }, func(*api.NodePool) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			n := simulatetest.Node("n1", "d2", "z-a", "a")
			row.node(n)
			s := (&simulatetest.Member{Nodes: []*api.NodeState{n}, Pools: []*api.NodePool{simulatetest.Pool("a", row.pool)}}).State()
			require.Equal(t, row.want, len(orchestration.Step(orchestration.StepInput{State: *s}).Record.Stamps) == 1)
		})
	}
}
