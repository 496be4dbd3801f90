package api

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MemberOf reads a MemberCluster with its status, as KubeFleet's hub exports it and as our api shows
// it, into the value that the core decides on. Effective labels in the status, which only our api
// writes, come before those of the metadata; the member's own name is always among them. Resource
// usage becomes properties named resources.kubernetes-fleet.io/<capacity>-<resource>, where capacity
// is total, allocatable or available.
func MemberOf(mc *MemberCluster) Member {
	m := Member{
		Name:    mc.Name,
		UID:     string(mc.UID),
		Labels:  memberLabels(mc),
		Taints:  slices.Clone(mc.Spec.Taints),
		Leaving: mc.DeletionTimestamp != nil || mc.Status != nil && mc.Status.State == MemberLeaving,
	}
	m.Agent = AgentLabelsOf(mc, m.Labels)
	if mc.Status == nil {
		return m
	}
	m.Properties = memberProperties(mc.Status)
	readAgent(&m, mc.Status.AgentStatus)
	m.NamespaceCondition = conditionOf(mc.Status.Conditions, ConditionNamespacesCollected) != nil
	if mc.Status.Namespaces != nil {
		m.NamespacesKnown = true
		m.Namespaces = slices.Sorted(maps.Keys(mc.Status.Namespaces))
	}
	return m
}

func memberLabels(mc *MemberCluster) map[string]string {
	from := mc.Labels
	if mc.Status != nil && mc.Status.Labels != nil {
		from = mc.Status.Labels
	}
	labels := make(map[string]string, len(from)+1)
	maps.Copy(labels, from)
	labels[LabelMemberName] = mc.Name
	return labels
}

func memberProperties(st *MemberClusterStatus) map[string]string {
	props := make(map[string]string, len(st.Properties)+6)
	for name, p := range st.Properties {
		canonical := CanonicalProperty(name)
		if _, own := st.Properties[canonical]; own && canonical != name {
			continue
		}
		props[canonical] = p.Value
	}
	if u := st.ResourceUsage; u != nil {
		addUsage(props, "total", u.Capacity)
		addUsage(props, "allocatable", u.Allocatable)
		addUsage(props, "available", u.Available)
	}
	return props
}

func addUsage(props map[string]string, capacity string, quantities map[string]string) {
	for resource, q := range quantities {
		props[PropertyResourcePrefix+capacity+"-"+resource] = q
	}
}

func readAgent(m *Member, agents []AgentStatus) {
	i := slices.IndexFunc(agents, func(a AgentStatus) bool { return a.Type == AgentTypeMember })
	if i < 0 {
		return
	}
	m.HasAgent = true
	m.LastHeartbeat = agents[i].LastReceivedHeartbeat.Time
	if c := conditionOf(agents[i].Conditions, ConditionJoined); c != nil {
		m.Joined = string(c.Status)
	}
	if c := conditionOf(agents[i].Conditions, ConditionHealthy); c != nil {
		m.Healthy, m.HealthChanged = string(c.Status), c.LastTransitionTime.Time
	}
}

func conditionOf(conditions []metav1.Condition, kind string) *metav1.Condition {
	for i := range conditions {
		if conditions[i].Type == kind {
			return &conditions[i]
		}
	}
	return nil
}
