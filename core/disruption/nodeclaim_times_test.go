package disruption

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/cluster"
	"flotilla/core/simulate/simulatetest"
)

// Since when consolidateAfter counts is Karpenter's to say where a NodeClaim tells whether its node is up; a claim
// that says nothing leaves what node and pods tell.
func TestTimesOfANodeClaim(t *testing.T) {
	made, event := metav1.NewTime(simulatetest.Now.Add(-time.Hour)), metav1.NewTime(simulatetest.Now.Add(-time.Minute))
	up := simulatetest.Condition(api.ClaimInitialized, metav1.ConditionTrue, "Initialized")
	n := simulatetest.KubeNode("n1", "m1", map[string]string{api.LabelInitialized: "true"})
	n.CreationTimestamp = made
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", CreationTimestamp: event}, Spec: corev1.PodSpec{NodeName: "n1"}}
	for name, row := range map[string]struct {
		claim        []func(*api.NodeClaim)
		up, deleting bool
		since, last  metav1.Time
	}{
		"nothing":               {nil, true, false, made, event},
		"up, no pod event":      {[]func(*api.NodeClaim){up}, true, false, metav1.NewTime(simulatetest.Now), metav1.Time{}},
		"up, and a pod event":   {[]func(*api.NodeClaim){up, func(c *api.NodeClaim) { c.Status.LastPodEventTime = made }}, true, false, metav1.NewTime(simulatetest.Now), made},
		"not up":                {[]func(*api.NodeClaim){simulatetest.Condition(api.ClaimInitialized, metav1.ConditionFalse, "Starting")}, false, false, made, metav1.Time{}},
		"Karpenter's to take":   {[]func(*api.NodeClaim){simulatetest.Condition(api.ClaimDisrupted, metav1.ConditionTrue, api.ReasonEmpty)}, true, true, made, event},
		"given up by Karpenter": {[]func(*api.NodeClaim){simulatetest.Condition(api.ClaimDisrupted, metav1.ConditionFalse, "x")}, true, false, made, event},
	} {
		t.Run(name, func(t *testing.T) {
			seen := cluster.Observe(&cluster.Listing{Nodes: []*corev1.Node{n}, Pods: []*corev1.Pod{pod}, NodeClaims: []*api.NodeClaim{simulatetest.Claim("c", "n1", "m1", row.claim...)}})
			s := seen.Nodes[0]
			require.Equal(t, []any{row.up, row.deleting, row.since, row.last}, []any{s.Initialized, s.Deleting, s.Since, s.LastPodEvent})
		})
	}
}

// Of nodes of which no record tells since when they are drifted, their NodeClaims do.
func TestDriftedLongestGoesFirst(t *testing.T) {
	drifted := func(name string, since time.Duration) *api.NodeState {
		n := simulatetest.Node(name, "d2", "z-a", "a", simulatetest.Pod("p-"+name, 100))
		n.ProviderDrift, n.DriftedSince = "ImageDrifted", metav1.NewTime(simulatetest.Now.Add(-since))
		return n
	}
	f := simulatetest.Member{Nodes: []*api.NodeState{drifted("n1", time.Minute), drifted("n2", time.Hour)}, Pools: []*api.NodePool{simulatetest.Pool("a")}}
	d := Decide(f.State())
	require.Equal(t, []string{"n2"}, d.Commands[0].Nodes)
}
