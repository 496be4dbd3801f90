package cli

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// nodeClaim is what a NodeClaim of Karpenter tells about its node.
type nodeClaim struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		ExpireAfter            string `json:"expireAfter"`
		TerminationGracePeriod string `json:"terminationGracePeriod"`
	} `json:"spec"`
	Status struct {
		NodeName   string             `json:"nodeName"`
		ProviderID string             `json:"providerID"`
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

// isNodeClaim tells NodeClaims of any version.
func isNodeClaim(r api.ObjectRef) bool {
	return r.Kind == "NodeClaim" && groupOf(r.APIVersion) == api.GroupKarpenter
}

// node is the index of the claim's node, -1 when the files do not hold it.
func (c *nodeClaim) node(nodes []*corev1.Node) int {
	return slices.IndexFunc(nodes, func(n *corev1.Node) bool {
		if c.Status.NodeName != "" {
			return n.Name == c.Status.NodeName
		}
		return c.Status.ProviderID != "" && n.Spec.ProviderID == c.Status.ProviderID
	})
}

// learnClaims puts what the NodeClaims say into the states of their nodes: Karpenter freezes both times
// when it makes a machine, and counts its age from then.
func (f *nodeFiles) learnClaims(states []api.NodeState) {
	for _, c := range f.nodeClaims {
		i := c.node(f.Nodes)
		if i < 0 {
			f.noteClaim(c)
			continue
		}
		j := slices.IndexFunc(states, func(s api.NodeState) bool { return s.Name == f.Nodes[i].Name })
		if j < 0 {
			continue
		}
		s := &states[j]
		s.Managed = true
		s.ExpireAfter, s.TerminationGracePeriod = c.Spec.ExpireAfter, c.Spec.TerminationGracePeriod
		s.Deleting = s.Deleting || c.Metadata.DeletionTimestamp != nil
		s.InstanceTerminating = s.InstanceTerminating || c.is("InstanceTerminating")
		if !c.Metadata.CreationTimestamp.IsZero() {
			s.Created = c.Metadata.CreationTimestamp
		}
	}
}

func (c *nodeClaim) is(condition string) bool {
	return slices.ContainsFunc(c.Status.Conditions, func(o metav1.Condition) bool {
		return o.Type == condition && o.Status == metav1.ConditionTrue
	})
}

func (f *nodeFiles) noteClaim(c *nodeClaim) {
	name := c.Metadata.Name
	switch {
	case c.Status.NodeName != "":
		f.notes = append(f.notes, fmt.Sprintf("not looked at: NodeClaim %s, whose node %s the files do not hold", name, c.Status.NodeName))
	case c.Metadata.DeletionTimestamp == nil:
		f.notes = append(f.notes, fmt.Sprintf("NodeClaim %s has no node yet: while a launch is in flight a cluster decides nothing", name))
	}
}
