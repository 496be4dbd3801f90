package cluster

import (
	"encoding/json"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
)

// Provided are labels that the provider of a machine sets. Of a node without one nobody knows what it is: that
// is no drift (N19).
var Provided = map[string]bool{corev1.LabelInstanceTypeStable: true, corev1.LabelTopologyZone: true, api.LabelCapacityType: true}

// Origin is what a node was made from, as far as is known.
type Origin struct {
	Labels map[string]string
	Whole  bool // a label that is not there was not asked for
}

// OriginOf is what a node was made from: what was kept of that, else its labels.
func OriginOf(n *api.NodeState) Origin {
	if n.Origin == nil {
		return Origin{Labels: CanonicalLabels(n.Labels)}
	}
	out := Origin{Labels: n.Origin.Labels, Whole: n.Origin.Whole}
	if out.Labels == nil {
		out.Labels = n.Labels
	}
	out.Labels = CanonicalLabels(out.Labels)
	return out
}

// passing are labels that say nothing of what a node was made from: they change in its life.
var passing = map[string]bool{
	api.LabelRegistered: true, api.LabelInitialized: true, api.LabelNodePool: true, corev1.LabelHostname: true, corev1.LabelNodeExcludeBalancers: true,
}

// OriginLabels is the value of the annotation that keeps the labels which a node has when it is first seen up.
func OriginLabels(labels map[string]string) string {
	kept := maps.Clone(labels)
	maps.DeleteFunc(kept, func(key, _ string) bool { return passing[key] })
	raw, err := json.Marshal(kept)
	if err != nil {
		return ""
	}
	return string(raw)
}

// observeOrigin reads what a node without a NodeClaim was made from, nil when its labels say it.
func observeOrigin(n *corev1.Node) *api.NodeOrigin {
	text, launched := n.Annotations[api.AnnotationOriginLabels], n.Annotations[api.AnnotationLaunch] != ""
	out := api.NodeOrigin{Whole: launched}
	if text != OriginLabels(n.Labels) {
		var labels map[string]string
		if json.Unmarshal([]byte(text), &labels) == nil {
			out.Labels = labels
		}
	}
	if out.Labels == nil && !launched {
		return nil
	}
	return &out
}
