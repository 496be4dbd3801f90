package api

import (
	"regexp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// KindNodeClaim is the kind of a machine of Karpenter, of GroupKarpenter.
const KindNodeClaim = "NodeClaim"

// Conditions of a NodeClaim that decisions read.
const (
	ClaimDrifted             = "Drifted"
	ClaimInitialized         = "Initialized"
	ClaimDisrupted           = "DisruptionReason" // Karpenter takes the node away
	ClaimInstanceTerminating = "InstanceTerminating"
)

// Why Karpenter takes a node away by itself, beside what it says in the condition ClaimDisrupted. It deletes the NodeClaim
// of one that is interrupted as anybody would, so that nobody can tell these apart.
const (
	TakenExpired     = "Expired"
	TakenUnhealthy   = "Unhealthy"
	TakenInterrupted = "Interrupted"
)

// ReasonKarpenterDisrupts is of an event about a node that Karpenter takes away by itself.
const ReasonKarpenterDisrupts = "KarpenterDisrupts"

// AnnotationTerminationTime is on a NodeClaim until when its node may take to be emptied, RFC 3339.
const AnnotationTerminationTime = GroupKarpenter + "/nodeclaim-termination-timestamp"

// NodeClaim is what a NodeClaim of Karpenter, of any version, tells about its node.
type NodeClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              NodeClaimSpec   `json:"spec"`
	Status            NodeClaimStatus `json:"status"`
}

// NodeClaimSpec holds the times that Karpenter freezes when it makes a machine.
type NodeClaimSpec struct {
	ExpireAfter            string `json:"expireAfter,omitempty"`
	TerminationGracePeriod string `json:"terminationGracePeriod,omitempty"`
}

// NodeClaimStatus says which node a claim has, and what Karpenter found out about it.
type NodeClaimStatus struct {
	NodeName   string             `json:"nodeName,omitempty"`
	ProviderID string             `json:"providerID,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// LastPodEventTime is when a pod last came, ended or left.
	LastPodEventTime metav1.Time `json:"lastPodEventTime,omitzero"`
}

// Condition is the one of a type while it is True, nil otherwise.
func (c *NodeClaim) Condition(kind string) *metav1.Condition {
	if one := conditionOf(c.Status.Conditions, kind); one != nil && one.Status == metav1.ConditionTrue {
		return one
	}
	return nil
}

// Tells reports whether a claim has a condition of a type, of whatever status.
func (c *NodeClaim) Tells(kind string) bool { return conditionOf(c.Status.Conditions, kind) != nil }

var conditionReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]{0,126}[A-Za-z0-9_])?$`)

// ConditionReason is the reason of a condition if it looks like one, else another.
func ConditionReason(reason, other string) string {
	if conditionReason.MatchString(reason) {
		return reason
	}
	return other
}

// Drift is the reason why Karpenter holds the machine for drifted, and since when it does; "" when it does not.
func (c *NodeClaim) Drift() (reason string, since metav1.Time) {
	drifted := c.Condition(ClaimDrifted)
	if drifted == nil {
		return "", metav1.Time{}
	}
	return ConditionReason(drifted.Reason, ClaimDrifted), drifted.LastTransitionTime
}
