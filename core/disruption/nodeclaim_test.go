package disruption

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/cluster"
	"flotilla/core/simulate/simulatetest"
)

// What a node without a claim was made from: the labels that it had when it was first seen, and all of them
// when Flotilla launched it.
func TestObservingTheOriginOfANode(t *testing.T) {
	labels := map[string]string{"team": "web", corev1.LabelHostname: "n1", api.LabelInitialized: "true"}
	for name, row := range map[string]struct {
		annotations map[string]string
		want        *api.NodeOrigin
	}{
		"never seen before":     {nil, nil},
		"as it was":             {map[string]string{api.AnnotationOriginLabels: `{"team":"web"}`}, nil},
		"edited":                {map[string]string{api.AnnotationOriginLabels: `{"team":"db"}`}, &api.NodeOrigin{Labels: map[string]string{"team": "db"}}},
		"a label was added":     {map[string]string{api.AnnotationOriginLabels: `{}`}, &api.NodeOrigin{Labels: map[string]string{}}},
		"not to be read":        {map[string]string{api.AnnotationOriginLabels: `{`}, nil},
		"launched":              {map[string]string{api.AnnotationLaunch: "x"}, &api.NodeOrigin{Whole: true}},
		"launched, then edited": {map[string]string{api.AnnotationLaunch: "x", api.AnnotationOriginLabels: `{"team":"db"}`}, &api.NodeOrigin{Labels: map[string]string{"team": "db"}, Whole: true}},
	} {
		t.Run(name, func(t *testing.T) {
			n := simulatetest.KubeNode("n1", "", labels)
			n.Annotations = row.annotations
			s := cluster.ObserveNode(n, nil, nil, nil)
			require.Equal(t, row.want, s.Origin)
		})
	}
	require.JSONEq(t, `{"team":"web"}`, cluster.OriginLabels(labels))
}

// A claim is that of its machine; what it says of labels, hash and drift goes before what the node says.
func TestObservingNodeClaims(t *testing.T) {
	began := metav1.NewTime(simulatetest.Now.Add(-time.Hour))
	drifted := simulatetest.Condition(api.ClaimDrifted, metav1.ConditionTrue, "ImageDrifted")
	labelled := func(c *api.NodeClaim) {
		c.Labels = map[string]string{corev1.LabelInstanceTypeStable: "d4"}
		c.Annotations = map[string]string{api.AnnotationPoolHash: "123", api.AnnotationPoolHashLevel: "v3"}
		c.CreationTimestamp = began
	}
	n1 := simulatetest.KubeNode("n1", "m1", map[string]string{corev1.LabelInstanceTypeStable: "d2"})
	n1.Annotations = map[string]string{api.AnnotationPoolHash: "h", api.AnnotationPoolHashLevel: capacity.PoolHashLevel, api.AnnotationStampedPool: "a"}
	l := &cluster.Listing{
		Nodes: []*corev1.Node{n1, simulatetest.KubeNode("n2", "m2", nil), simulatetest.KubeNode("n3", "", nil)},
		NodeClaims: []*api.NodeClaim{
			simulatetest.Claim("c1", "n1", "m1", drifted, labelled),
			simulatetest.Claim("before", "n2", "gone", drifted), // of a machine that had the name before
			simulatetest.Claim("c3", "n3", "m3", simulatetest.Condition(api.ClaimDrifted, metav1.ConditionFalse, "NotDrifted"), simulatetest.Condition(api.ClaimInstanceTerminating, metav1.ConditionTrue, "x")),
			simulatetest.Claim("coming", "", "m9"),
		},
	}
	seen := cluster.Observe(l)
	one := seen.Nodes[0]
	require.Equal(t, "ImageDrifted", one.ProviderDrift)
	require.Equal(t, simulatetest.Now, one.DriftedSince.Time)
	require.Equal(t, began, one.Created)
	require.Equal(t, &api.NodeOrigin{Labels: map[string]string{corev1.LabelInstanceTypeStable: "d4"}, Whole: true}, one.Origin)
	require.Equal(t, map[string]string{api.AnnotationPoolHash: "123", api.AnnotationPoolHashLevel: "v3"}, one.Annotations)
	require.False(t, seen.Nodes[1].Managed, "the claim is of another machine")
	require.Empty(t, seen.Nodes[1].ProviderDrift)
	require.True(t, seen.Nodes[2].Managed)
	require.True(t, seen.Nodes[2].InstanceTerminating)
	require.Empty(t, seen.Nodes[2].ProviderDrift, "the condition is False")
	require.Nil(t, seen.Nodes[2].Origin, "a claim without labels says nothing about them")
	var unbound []string
	for _, c := range seen.Unbound {
		unbound = append(unbound, c.Name)
	}
	require.Equal(t, []string{"before", "coming"}, unbound)
}

// Of two claims that name one node, such as those of a node made again, the newest counts.
func TestTheNewestClaimCounts(t *testing.T) {
	at := func(minutes int) func(*api.NodeClaim) {
		return func(c *api.NodeClaim) {
			c.CreationTimestamp = metav1.NewTime(simulatetest.Now.Add(time.Duration(minutes) * time.Minute))
		}
	}
	old := simulatetest.Claim("old", "n1", "", at(0), simulatetest.Condition(api.ClaimDrifted, metav1.ConditionTrue, "ImageDrifted"))
	fresh := simulatetest.Claim("fresh", "n1", "", at(1))
	for _, claims := range [][]*api.NodeClaim{{old, fresh}, {fresh, old}} {
		seen := cluster.Observe(&cluster.Listing{Nodes: []*corev1.Node{simulatetest.KubeNode("n1", "m1", nil)}, NodeClaims: claims})
		require.Empty(t, seen.Nodes[0].ProviderDrift)
	}
}

// The reason of a condition that an API server would not take is not shown.
func TestTheReasonOfADrift(t *testing.T) {
	for reason, want := range map[string]string{"ImageDrifted": "ImageDrifted", "": "Drifted", "a b": "Drifted", "x\x1b[2J": "Drifted"} {
		got, _ := simulatetest.Claim("c", "n", "", simulatetest.Condition(api.ClaimDrifted, metav1.ConditionTrue, reason)).Drift()
		require.Equal(t, want, got)
	}
}
