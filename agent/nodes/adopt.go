package nodes

import (
	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/cluster"
)

// adopt keeps on a node that is up what drift is told by, whoever made it: its labels as they were when it was
// first seen up, and the hashes of its pool and node class of then. Where Karpenter tells of drift, by a hash
// of its own on the node or its NodeClaim, the node is left as it is (N19, N21).
func (c *care) adopt(n *corev1.Node) {
	if c.claimed || n.Labels[api.LabelInitialized] != "true" {
		return
	}
	if n.Annotations[api.AnnotationPoolHash] != "" && n.Annotations[api.AnnotationPoolHashLevel] != capacity.PoolHashLevel {
		return
	}
	if n.Annotations[api.AnnotationOriginLabels] == "" {
		annotate(n, api.AnnotationOriginLabels, cluster.OriginLabels(n.Labels))
	}
	if stamp, told := c.stamps[n.Labels[api.LabelNodePool]]; told && !capacity.Stamped(n.Annotations, &stamp) {
		capacity.Stamp(n.Annotations, &stamp)
	}
}

// disown takes off a node that nobody launched for us what adopt put on it: were its member to come back, it
// would be seen for the first time.
func disown(n *corev1.Node) {
	if n.Annotations[api.AnnotationLaunch] != "" || n.Annotations[api.AnnotationOriginLabels] == "" {
		return
	}
	delete(n.Annotations, api.AnnotationOriginLabels)
	if n.Annotations[api.AnnotationPoolHashLevel] != capacity.PoolHashLevel {
		return
	}
	for _, key := range []string{api.AnnotationPoolHash, api.AnnotationPoolHashLevel, api.AnnotationStampedPool, api.AnnotationClassHash} {
		delete(n.Annotations, key)
	}
}
