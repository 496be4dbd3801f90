package disruption

import (
	"encoding/json"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
)

// provided are labels that the provider of a machine sets. Of a node without one nobody knows what it is: that
// is no drift (N19).
var provided = map[string]bool{corev1.LabelInstanceTypeStable: true, corev1.LabelTopologyZone: true, api.LabelCapacityType: true}

// origin is what a node was made from, as far as is known.
type origin struct {
	labels map[string]string
	whole  bool // a label that is not there was not asked for
}

func originOf(n *api.NodeState) origin {
	if n.Origin == nil {
		return origin{labels: canonicalLabels(n.Labels)}
	}
	out := origin{labels: n.Origin.Labels, whole: n.Origin.Whole}
	if out.labels == nil {
		out.labels = n.Labels
	}
	out.labels = canonicalLabels(out.labels)
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
