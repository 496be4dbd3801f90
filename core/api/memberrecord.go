package api

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MemberFrom joins the user's side of a member and the hub's record of it, nil when no agent ever
// reported, into the value that the core decides on. The scheduler decides on it and the door plans
// with it, so that both see the same fleet. While the record does not say Unknown the member counts as
// heard of now: heartbeats do not change the record.
func MemberFrom(mc *MemberCluster, record *MemberRecord, now time.Time) Member {
	m := Member{
		Name: mc.Name, UID: string(mc.UID), Taints: slices.Clone(mc.Spec.Taints), Leaving: mc.DeletionTimestamp != nil,
		Labels: map[string]string{},
	}
	if record != nil {
		maps.Copy(m.Labels, record.Labels)
		joinRecord(&m, record, now)
	}
	maps.Copy(m.Labels, mc.Labels)
	m.Labels[LabelMemberName] = mc.Name
	m.Agent = AgentLabelsOf(mc, m.Labels)
	return m
}

// LastHeartbeat is when a member was last heard of, as far as decisions are concerned: now, unless it is silent.
func LastHeartbeat(record *MemberRecord, now time.Time) time.Time {
	if record.State == MemberUnknown {
		return record.LastSeen.Time
	}
	return now
}

func joinRecord(m *Member, record *MemberRecord, now time.Time) {
	m.Properties = make(map[string]string, len(record.Properties))
	for name, value := range record.Properties {
		m.Properties[CanonicalProperty(name)] = value
	}
	m.HasAgent = !record.LastSeen.IsZero()
	m.LastHeartbeat = LastHeartbeat(record, now)
	m.Joined = string(metav1.ConditionTrue)
	if record.UID != m.UID || record.State == MemberJoining {
		m.Joined = string(metav1.ConditionFalse)
	}
	m.Healthy, m.HealthChanged = record.Healthy, record.HealthySince.Time
	if record.Namespaces != nil {
		m.NamespaceCondition, m.NamespacesKnown = true, true
		m.Namespaces = slices.Clone(record.Namespaces)
	}
}
