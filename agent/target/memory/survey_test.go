package memory

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"flotilla/agent/target"
)

func look2(t *testing.T, m *Member) *target.Survey {
	t.Helper()
	s, err := m.Survey(t.Context())
	require.NoError(t, err)
	return s
}

func TestSmoke(t *testing.T) {
	clock := &manualClock{now: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)}
	m := New(Options{Name: "berlin", Nodes: nodes("a", "b"), ReadyAfter: 10 * time.Second, Clock: clock})
	create(t, m, shop)
	create(t, m, deployment)
	s := look2(t, m)
	require.Len(t, s.Pods, 2)
	require.Equal(t, "a", s.Pods[0].Spec.NodeName)
	clock.Advance(10 * time.Second)
	require.NoError(t, m.UpdateNode(t.Context(), "a", func(n *corev1.Node) { n.Spec.Unschedulable = true }))
	p := look2(t, m).Pods[0]
	ref := target.PodRef{Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)}
	require.NoError(t, m.Evict(t.Context(), ref))
	require.NotNil(t, look2(t, m).Pods[0].DeletionTimestamp)
	clock.Advance(30 * time.Second)
	require.True(t, apierrors.IsNotFound(m.Evict(t.Context(), ref)))
	t.Log(look2(t, m).Pods)
	t.Log(look2(t, m).Nodes)
}
