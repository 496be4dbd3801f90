package schedule

import (
	"fmt"

	"flotilla/core/api"
)

// Hopes says what a placement asks for that the fleet, as it is, cannot give and may give one day: more members
// than there are, members that nobody knows, properties and labels that none of them has. Each remark begins
// with the path of its field.
func Hopes(p *api.Placement, members []api.Member) []string {
	policy := p.Spec.Policy
	if policy == nil {
		return nil
	}
	h := hopes{members: members}
	h.count(policy)
	h.names(policy)
	if len(members) == 0 {
		return h.found
	}
	if policy.Affinity != nil && policy.Affinity.ClusterAffinity != nil {
		h.affinity(policy.Affinity.ClusterAffinity)
	}
	for i, c := range policy.TopologySpreadConstraints {
		if !h.any(func(m *api.Member) bool { _, has := m.Labels[c.TopologyKey]; return has }) {
			h.add("spec.policy.topologySpreadConstraints[%d].topologyKey: no member has the label %s yet", i, c.TopologyKey)
		}
	}
	return h.found
}

type hopes struct {
	members []api.Member
	found   []string
}

func (h *hopes) add(format string, args ...any) {
	h.found = append(h.found, fmt.Sprintf(format, args...))
}

func (h *hopes) any(is func(*api.Member) bool) bool {
	for i := range h.members {
		if is(&h.members[i]) {
			return true
		}
	}
	return false
}

func (h *hopes) count(policy *api.Policy) {
	n := policy.NumberOfClusters
	if policy.Type() != api.PickN || n == nil || int(*n) <= len(h.members) {
		return
	}
	switch len(h.members) {
	case 0:
		h.add("spec.policy.numberOfClusters: %d are wanted, and the fleet has no member yet", *n)
	case 1:
		h.add("spec.policy.numberOfClusters: %d are wanted, and the fleet has 1 member", *n)
	default:
		h.add("spec.policy.numberOfClusters: %d are wanted, and the fleet has %d members", *n, len(h.members))
	}
}

func (h *hopes) names(policy *api.Policy) {
	for i, name := range policy.ClusterNames {
		if !h.any(func(m *api.Member) bool { return m.Name == name }) {
			h.add("spec.policy.clusterNames[%d]: there is no member %s yet", i, name)
		}
	}
}

func (h *hopes) affinity(a *api.ClusterAffinity) {
	const at = "spec.policy.affinity.clusterAffinity."
	if a.Required != nil {
		for i := range a.Required.ClusterSelectorTerms {
			selector := a.Required.ClusterSelectorTerms[i].PropertySelector
			if selector == nil {
				continue
			}
			for j := range selector.MatchExpressions {
				if name := selector.MatchExpressions[j].Name; !h.reported(name) {
					h.add(at+"requiredDuringSchedulingIgnoredDuringExecution.clusterSelectorTerms[%d].propertySelector.matchExpressions[%d].name: "+
						"no member reports %s yet: the term matches none", i, j, name)
				}
			}
		}
	}
	for i := range a.Preferred {
		term := &a.Preferred[i].Preference
		field := "propertySorter"
		if term.PropertySorter == nil {
			field = "metricSorter"
		}
		if sorter := term.Sorter(); sorter != nil && !h.reported(sorter.Name) {
			h.add(at+"preferredDuringSchedulingIgnoredDuringExecution[%d].preference.%s.name: no member reports %s yet: it sorts nothing",
				i, field, sorter.Name)
		}
	}
}

// reported says that some member reports the property.
func (h *hopes) reported(name string) bool {
	name = api.CanonicalProperty(name)
	return h.any(func(m *api.Member) bool { _, has := m.Properties[name]; return has })
}
