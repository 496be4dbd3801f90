package cluster

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
)

// nodeClaims finds the NodeClaim of a node.
type nodeClaims struct {
	byMachine, byNode map[string][]*api.NodeClaim
	bound             map[*api.NodeClaim]bool
}

func newNodeClaims(all []*api.NodeClaim) *nodeClaims {
	out := &nodeClaims{byMachine: map[string][]*api.NodeClaim{}, byNode: map[string][]*api.NodeClaim{}, bound: map[*api.NodeClaim]bool{}}
	for _, c := range all {
		if id := c.Status.ProviderID; id != "" {
			out.byMachine[id] = append(out.byMachine[id], c)
		}
		if name := c.Status.NodeName; name != "" {
			out.byNode[name] = append(out.byNode[name], c)
		}
	}
	return out
}

// take is the claim of a node, nil for none: that of its machine, else one that names it and is of no other
// machine. Of several the newest counts, such as that of a node that was made again under its name.
func (c *nodeClaims) take(n *corev1.Node) *api.NodeClaim {
	var found *api.NodeClaim
	consider := func(list []*api.NodeClaim) {
		for _, one := range list {
			other := one.Status.ProviderID != "" && n.Spec.ProviderID != "" && one.Status.ProviderID != n.Spec.ProviderID
			if !other && (found == nil || newerClaim(one, found)) {
				found = one
			}
		}
	}
	if n.Spec.ProviderID != "" {
		consider(c.byMachine[n.Spec.ProviderID])
	}
	if found == nil {
		consider(c.byNode[n.Name])
	}
	if found != nil {
		c.bound[found] = true
	}
	return found
}

func newerClaim(a, b *api.NodeClaim) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return b.CreationTimestamp.Before(&a.CreationTimestamp)
	}
	return strings.Compare(a.Name, b.Name) < 0
}

// rest are those of all claims that no node took.
func (c *nodeClaims) rest(all []*api.NodeClaim) []*api.NodeClaim {
	var out []*api.NodeClaim
	for _, one := range all {
		if !c.bound[one] {
			out = append(out, one)
		}
	}
	return out
}

// bind puts what its NodeClaim says into the state of a node: Karpenter freezes both times when it makes a
// machine, counts its age from then, and compares the claim's labels and hash with the pool.
func bind(s *api.NodeState, n *corev1.Node, c *api.NodeClaim) {
	s.Managed, s.Taken = true, takenFor(n, c)
	s.ExpireAfter, s.TerminationGracePeriod = c.Spec.ExpireAfter, c.Spec.TerminationGracePeriod
	s.Deleting = s.Deleting || c.DeletionTimestamp != nil || c.Condition(api.ClaimDisrupted) != nil
	s.InstanceTerminating = s.InstanceTerminating || c.Condition(api.ClaimInstanceTerminating) != nil
	if !c.CreationTimestamp.IsZero() {
		s.Created = c.CreationTimestamp
	}
	bindTimes(s, c)
	s.ProviderDrift, s.DriftedSince = c.Drift()
	if len(c.Labels) > 0 {
		s.Origin = &api.NodeOrigin{Labels: c.Labels, Whole: true}
	}
	if c.Annotations[api.AnnotationPoolHash] == "" {
		return
	}
	s.Annotations = maps.Clone(s.Annotations)
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	for _, key := range []string{api.AnnotationPoolHash, api.AnnotationPoolHashLevel} {
		s.Annotations[key] = c.Annotations[key]
	}
	delete(s.Annotations, api.AnnotationStampedPool)
}

// bindTimes puts in since when Karpenter counts consolidateAfter: a node is up, and was last disturbed by a pod,
// when its claim says so, where that says anything about it.
func bindTimes(s *api.NodeState, c *api.NodeClaim) {
	if !c.Tells(api.ClaimInitialized) {
		return
	}
	up := c.Condition(api.ClaimInitialized)
	if s.Initialized = up != nil; s.Initialized {
		s.Since = up.LastTransitionTime
	}
	s.LastPodEvent = c.Status.LastPodEventTime
}

// Claimed are the nodes whose NodeClaims carry Karpenter's hash, by name: Karpenter tells when they drift.
func Claimed(nodes []*corev1.Node, claims []*api.NodeClaim) map[string]bool {
	out := map[string]bool{}
	if len(claims) == 0 {
		return out
	}
	known := newNodeClaims(claims)
	for _, n := range nodes {
		if c := known.take(n); c != nil && c.Annotations[api.AnnotationPoolHash] != "" {
			out[n.Name] = true
		}
	}
	return out
}
