package cluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
)

// takenFor says why Karpenter takes a node away by itself, "" while it does not, or where somebody deleted the node: what
// nobody asked it for is not voluntary, and no budget holds it.
func takenFor(n *corev1.Node, c *api.NodeClaim) string {
	if own := c.Condition(api.ClaimDisrupted); own != nil {
		return api.ConditionReason(own.Reason, api.ClaimDisrupted)
	}
	if c.DeletionTimestamp == nil || n.DeletionTimestamp.Before(c.DeletionTimestamp) {
		return ""
	}
	switch {
	case repaired(c):
		return api.TakenUnhealthy
	case outlived(c):
		return api.TakenExpired
	}
	return api.TakenInterrupted
}

// repaired says that a claim was deleted because its node was unhealthy: then its time is up at once, whatever grace it
// was made with.
func repaired(c *api.NodeClaim) bool {
	until, err := time.Parse(time.RFC3339, c.Annotations[api.AnnotationTerminationTime])
	if err != nil || until.After(c.DeletionTimestamp.Time) {
		return false
	}
	grace, err := time.ParseDuration(c.Spec.TerminationGracePeriod)
	return err != nil || grace > 0
}

// outlived says that a claim was older than its expireAfter when it was deleted.
func outlived(c *api.NodeClaim) bool {
	after, never := capacity.NeverOr(c.Spec.ExpireAfter)
	return !never && !c.DeletionTimestamp.Time.Before(c.CreationTimestamp.Add(after))
}
