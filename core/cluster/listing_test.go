package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// What restricts pods that move is part of an inventory: budgets, DaemonSets as the pods that they make, labels of namespaces.
func TestWhatRestrictsMovingPods(t *testing.T) {
	in := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name}
	}
	always := policyv1.AlwaysAllow
	daemon := &appsv1.DaemonSet{ObjectMeta: in("shop", "logs")}
	daemon.Spec.Template.Labels = map[string]string{"app": "logs"}
	seen := (&Observer{}).Observe(&Listing{
		Budgets: []*policyv1.PodDisruptionBudget{
			{ObjectMeta: in("shop", "web"), Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 2}},
			{ObjectMeta: in("shop", "db"), Spec: policyv1.PodDisruptionBudgetSpec{UnhealthyPodEvictionPolicy: &always}},
			{ObjectMeta: in("api", "web")},
		},
		DaemonSets: []*appsv1.DaemonSet{daemon, {ObjectMeta: in("api", "logs")}},
		Namespaces: []*corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"team": "web"}}}, {ObjectMeta: metav1.ObjectMeta{Name: "api"}}},
	}).Inventory
	require.Equal(t, map[string]map[string]string{"shop": {"team": "web"}, "api": nil}, seen.Namespaces)
	require.Equal(t, []api.PodBudget{{Namespace: "api", Name: "web"}, {Namespace: "shop", Name: "db", AlwaysAllow: true}, {Namespace: "shop", Name: "web", Allowed: 2}}, seen.Budgets)
	require.Equal(t, "api", seen.DaemonSets[0].Namespace)
	pod := seen.DaemonSets[1].Pod
	require.Equal(t, []string{"shop", "logs", "logs", ownerDaemonSet, "logs"}, []string{pod.Namespace, pod.Name, pod.Labels["app"], pod.Owner, pod.OwnerName})
}

// What moving a pod costs rises with its priority and with what its annotation says; that of flotilla goes before that of
// Kubernetes.
func TestWhatMovingAPodCosts(t *testing.T) {
	for _, c := range []struct {
		priority   int32
		own, usual string
		want       float64
	}{
		{want: 1},
		{priority: 1 << 25, want: 2},
		{usual: "134217728", want: 2},
		{own: "268435456", usual: "134217728", want: 3},
		{own: "odd", usual: "134217728", want: 2},
		{usual: "-134217728", want: 0},
		{priority: 2000000000, want: 10},
		{priority: -2000000000, want: -10},
	} {
		p := &api.PodState{Priority: c.priority, Annotations: map[string]string{api.AnnotationDisruptionCost: c.own, api.AnnotationDeletionCost: c.usual}}
		require.InDelta(t, c.want, evictionCost(p), 1e-9, "%+v", c)
	}
}

// do-not-disrupt holds for ever, or for a while from the start of the pod.
func TestHowLongAPodIsProtected(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		says    string
		started time.Duration
		want    bool
		until   time.Duration
	}{
		{"true", -time.Hour, true, 0},
		{"false", -time.Hour, false, 0},
		{"", -time.Hour, false, 0},
		{"-1h", -time.Hour, false, 0},
		{"0s", -time.Hour, false, 0},
		{"2h", -time.Hour, true, time.Hour},
		{"1h", -time.Hour, false, 0},
		{"30m", -time.Hour, false, -30 * time.Minute},
		{"2h", 0, true, 0},
	} {
		p := &Pod{State: &api.PodState{Annotations: map[string]string{api.AnnotationDoNotDisrupt: c.says}}, Active: true}
		if c.started != 0 {
			p.State.Started = metav1.NewTime(now.Add(c.started))
		}
		held, until := p.Protected(now)
		require.Equal(t, c.want, held, "%+v", c)
		if c.until != 0 {
			require.Equal(t, now.Add(c.until), until, "%+v", c)
		}
		p.Active = false
		held, _ = p.Protected(now)
		require.False(t, held, "a pod that ends protects nothing")
	}
}

// Of nodes that are stored and not in the inventory it is not known whether they are there.
func TestNodesThatAreNotConfirmed(t *testing.T) {
	v := &View{}
	require.Nil(t, v.Unconfirmed([]string{"b"}))
	v.inventory = &api.NodeInventory{Nodes: map[string]uint64{"a": 1}}
	require.Equal(t, []string{"b", "c"}, v.Unconfirmed([]string{"c", "a", "b"}))
}
