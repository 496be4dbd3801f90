package orchestration

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/cluster"
	"flotilla/core/disruption"
	"flotilla/core/simulate"
)

// MemberNodes shows the nodes of a member to people, sorted by name: what is known of each, the
// disruption that holds it, and its verdict in a decision that may be older than the state. Pods are
// left out.
func MemberNodes(s *simulate.State, member string, d *disruption.Decision, disruptions []api.Disruption) []api.MemberNode {
	pools := map[string]*capacity.Pool{}
	for _, p := range s.Pools {
		pools[p.Name] = p
	}
	held := map[string]*api.Disruption{}
	for i := range disruptions {
		if disruptions[i].Running() || unconfirmed(&disruptions[i]) {
			for _, n := range disruptions[i].Nodes {
				held[n] = &disruptions[i]
			}
		}
	}
	out := make([]api.MemberNode, 0, s.Cluster.Len())
	for _, name := range s.Cluster.Names() {
		n := s.Cluster.Nodes[name]
		row := newMemberNode(n, member)
		row.Status.Price = disruption.PriceOf(n, pools[n.Pool])
		if h := held[name]; h != nil {
			row.Status.Disruption, row.Status.Phase = h.ID, h.Phase
		}
		row.Status.State = stateOf(n.State, row.Status.Disruption != "")
		row.Status.Verdict = verdictOf(d, name)
		out = append(out, row)
	}
	return out
}

func newMemberNode(n *cluster.Node, member string) api.MemberNode {
	s := n.State
	row := api.MemberNode{
		TypeMeta:   metav1.TypeMeta{APIVersion: api.VersionFlotilla, Kind: api.KindMemberNode},
		ObjectMeta: metav1.ObjectMeta{Name: s.Name, UID: types.UID(s.UID), Labels: s.Labels, Annotations: s.Annotations, CreationTimestamp: s.Created},
		Spec:       api.MemberNodeSpec{Member: member, NodePool: n.Pool, Taints: s.Taints},
		Status: api.MemberNodeStatus{
			Managed: s.Managed, InstanceType: n.Labels[corev1.LabelInstanceTypeStable], CapacityType: n.Labels[api.LabelCapacityType],
			Zone: n.Labels[corev1.LabelTopologyZone], Allocatable: s.Allocatable, Requested: api.Amounts{},
		},
	}
	for i := range n.Pods {
		if p := &n.Pods[i]; p.Active {
			row.Status.Pods++
			cluster.Plus(row.Status.Requested, p.State.Requests)
		}
	}
	return row
}

func stateOf(s *api.NodeState, held bool) string {
	switch {
	case s.Deleting || s.InstanceTerminating:
		return api.NodeDeleting
	case held:
		return api.NodeDisrupting
	case s.Managed && !s.Initialized:
		return api.NodeNotInitialized
	case !s.Ready:
		return api.NodeNotReady
	default:
		return api.NodeReady
	}
}

// verdictOf is the verdict of a node in one line, nil when the decision did not know it.
func verdictOf(d *disruption.Decision, node string) *api.NodeVerdict {
	i, found := slices.BinarySearchFunc(d.Verdicts, node, func(v disruption.Verdict, name string) int { return strings.Compare(v.Node, name) })
	if !found {
		return nil
	}
	v := &d.Verdicts[i]
	if v.Disrupt != "" {
		return &api.NodeVerdict{Disrupt: v.Disrupt, Method: v.Method, Drift: v.Drift}
	}
	why := v.Reason()
	return &api.NodeVerdict{Code: string(why.Code), Message: why.Message, Drift: v.Drift}
}
