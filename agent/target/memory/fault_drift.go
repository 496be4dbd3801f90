package memory

import (
	"cmp"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// noteDrift keeps since when nodes are found drifted.
func (m *Member) noteDrift() {
	before := m.driftedAt
	m.driftedAt = map[string]time.Time{}
	for _, f := range m.faults.Drifted {
		at, known := before[f.Node]
		if !known {
			at = m.clock.Now()
		}
		m.driftedAt[f.Node] = at
	}
}

// nodeClaims are those of the nodes that Karpenter finds drifted; it has told nothing of others.
func (m *Member) nodeClaims() []*api.NodeClaim {
	var out []*api.NodeClaim
	for _, f := range m.faults.Drifted {
		n := m.nodeNamed(f.Node)
		if n == nil {
			continue
		}
		out = append(out, &api.NodeClaim{
			TypeMeta:   metav1.TypeMeta{APIVersion: api.GroupKarpenter + "/v1", Kind: api.KindNodeClaim},
			ObjectMeta: metav1.ObjectMeta{Name: n.Name, CreationTimestamp: metav1.NewTime(n.Created), Labels: maps.Clone(n.Labels)},
			Spec: api.NodeClaimSpec{
				ExpireAfter: n.Annotations[api.AnnotationExpireAfter], TerminationGracePeriod: n.Annotations[api.AnnotationTerminationGracePeriod],
			},
			Status: api.NodeClaimStatus{NodeName: n.Name, Conditions: []metav1.Condition{{
				Type: api.ClaimDrifted, Status: metav1.ConditionTrue, Reason: cmp.Or(f.Reason, api.ClaimDrifted), LastTransitionTime: metav1.NewTime(m.driftedAt[f.Node]),
			}}},
		})
	}
	slices.SortFunc(out, func(a, b *api.NodeClaim) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
