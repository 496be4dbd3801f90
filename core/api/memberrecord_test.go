package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

func TestMemberFromJoinsBothSides(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	seen := metav1.NewTime(now.Add(-10 * time.Minute))
	mc := &api.MemberCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "berlin", UID: "u", Labels: map[string]string{"env": "prod"}, Annotations: map[string]string{api.AnnotationAgentLabels: "region, zones/*"}},
		Spec:       api.MemberClusterSpec{Taints: []api.Taint{{Key: "k", Effect: api.EffectNoSchedule}}},
	}
	record := &api.MemberRecord{
		Name: "berlin", UID: "u", State: api.MemberReady, LastSeen: seen, Healthy: "True", HealthySince: seen,
		Labels:     map[string]string{"env": "dev", "region": "eu"},
		Properties: map[string]string{api.PropertyNodeCountAKS: "3"}, Namespaces: []string{"shop"},
	}
	want := api.Member{
		Name: "berlin", UID: "u", Taints: mc.Spec.Taints, HasAgent: true, LastHeartbeat: now, Joined: "True", Healthy: "True",
		HealthChanged: seen.Time, NamespaceCondition: true, NamespacesKnown: true, Namespaces: []string{"shop"},
		Labels:     map[string]string{"env": "prod", "region": "eu", api.LabelMemberName: "berlin"},
		Agent:      api.AgentLabels{Stated: []string{"region"}, Allowed: []string{"region", " zones/*"}},
		Properties: map[string]string{api.PropertyNodeCount: "3"},
	}
	require.Equal(t, want, api.MemberFrom(mc, record, now), "the user's labels win, a live member was heard of now")

	require.True(t, want.Agent.Decides(want.Labels, "region"))
	require.True(t, want.Agent.Decides(want.Labels, "zones/a"), "it may state it, and nobody wrote it")
	require.False(t, want.Agent.Decides(want.Labels, "env"))
	require.False(t, want.Agent.Decides(want.Labels, "tier"))

	record.State = api.MemberUnknown
	require.Equal(t, seen.Time, api.MemberFrom(mc, record, now).LastHeartbeat)

	record.State, record.UID = api.MemberReady, "another"
	require.Equal(t, "False", api.MemberFrom(mc, record, now).Joined, "the record is of a member deleted before")

	silent := api.MemberFrom(mc, nil, now)
	require.False(t, silent.HasAgent)
	require.Equal(t, map[string]string{"env": "prod", api.LabelMemberName: "berlin"}, silent.Labels)
}
