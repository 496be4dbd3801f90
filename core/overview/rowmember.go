package overview

import (
	"slices"
	"strconv"

	"flotilla/core/api"
)

// MemberOf is the row of a member: m is its MemberCluster, nil for one that nobody admitted, record what the hub knows of it,
// nil for one that was never heard of, region what its inventory says. When it was last heard of, what is placed on it and how
// its credentials stand is for whoever knows to fill in.
func MemberOf(m *api.MemberCluster, record *api.MemberRecord, region string) Member {
	row := Member{State: api.MemberJoining, Membership: Membership{Admitted: m != nil}}
	if m != nil {
		row.Name, row.Created, row.Labels, row.Leaving = m.Name, m.CreationTimestamp, m.Labels, m.DeletionTimestamp != nil
		row.taints(m.Spec.Taints)
	}
	if record != nil {
		row.heard(record)
	}
	row.Region, row.Zone = Place(row.Labels, region)
	return row
}

func (m *Member) taints(taints []api.Taint) {
	m.Draining = api.Draining(taints)
	m.Cordoned = !m.Draining && slices.ContainsFunc(taints, func(t api.Taint) bool { return t.Key == api.TaintCordoned })
	for i := range taints {
		m.Taints = append(m.Taints, taints[i].String())
	}
}

func (m *Member) heard(record *api.MemberRecord) {
	m.Name, m.State, m.Since, m.Message = record.Name, record.State, record.Since, record.Message
	if record.Labels != nil {
		m.Labels = record.Labels
	}
	m.Version, m.Agent, m.Nodes = record.KubernetesVersion, record.AgentVersion, record.Nodes
	if n, err := strconv.Atoi(record.Properties[api.PropertyNodeCount]); err == nil {
		m.Nodes = n
	}
	m.CPU, m.Memory = record.Properties[api.PropertyResourcePrefix+"available-cpu"], record.Properties[api.PropertyResourcePrefix+"available-memory"]
}
