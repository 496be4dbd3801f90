package disruption

import (
	"cmp"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"flotilla/core/api"
)

// Kinds of controllers whose pods are treated in their own way.
const (
	ownerDaemonSet   = "DaemonSet"
	ownerNode        = "Node"
	ownerStatefulSet = "StatefulSet"
)

// pod is one pod, parsed.
type pod struct {
	state *api.PodState
	key   string // namespace/name
	uid   string
	req   vec
	cost  float64
	// active pods run or will; movable ones need a place when their node goes (section 5).
	active, movable bool
	daemon, mirror  bool
	// plain pods restrict nothing about their node but its free capacity.
	plain bool
}

func (c *Cluster) newPod(s *api.PodState) *pod {
	p := &pod{}
	c.fillPod(p, s)
	return p
}

func (c *Cluster) fillPod(p *pod, s *api.PodState) {
	p.state, p.key = s, s.Namespace+"/"+s.Name
	p.uid = cmp.Or(s.UID, p.key)
	p.req = c.resources.vec(s.Requests)
	p.req.base[podsIndex] = 1
	p.daemon, p.mirror = s.Owner == ownerDaemonSet, s.Owner == ownerNode
	p.active = !terminal(s) && !s.Terminating
	p.movable = Movable(s)
	p.plain = len(s.NodeSelector) == 0 && s.Affinity == nil && len(s.Spread) == 0 && len(s.Ports) == 0 && len(s.Volumes) == 0 && len(s.Tolerations) == 0
	p.cost = evictionCost(s)
}

// Movable reports whether a pod needs a place when its node goes (section 5).
func Movable(s *api.PodState) bool {
	return !terminal(s) && (!s.Terminating || s.Owner == ownerStatefulSet) && s.Owner != ownerDaemonSet && s.Owner != ownerNode
}

func terminal(s *api.PodState) bool {
	return s.Phase == string(corev1.PodSucceeded) || s.Phase == string(corev1.PodFailed)
}

// evictionCost is how much moving a pod disturbs, from -10 to 10 (section 6).
func evictionCost(s *api.PodState) float64 {
	cost := 1 + float64(s.Priority)/(1<<25)
	if own, err := strconv.ParseInt(s.Annotations[api.AnnotationDisruptionCost], 10, 32); err == nil {
		cost += float64(own) / (1 << 27)
	} else if own, err := strconv.ParseInt(s.Annotations[api.AnnotationDeletionCost], 10, 32); err == nil {
		cost += float64(own) / (1 << 27)
	}
	return min(10, max(-10, cost))
}

// protected reports whether the pod's do-not-disrupt annotation holds at now: "true", or a duration
// since its start that is not over. The second value is when that ends, zero for never.
func (p *pod) protected(now time.Time) (bool, time.Time) {
	v, ok := p.state.Annotations[api.AnnotationDoNotDisrupt]
	if !ok || !p.active {
		return false, time.Time{}
	}
	if v == "true" {
		return true, time.Time{}
	}
	d, err := time.ParseDuration(v)
	if err != nil || d <= 0 {
		return false, time.Time{}
	}
	if p.state.Started.IsZero() {
		return true, time.Time{}
	}
	until := p.state.Started.Add(d)
	return now.Before(until), until
}

// stays reports whether no drain evicts a pod: it ends with its machine.
func (p *pod) stays() bool { return p.mirror || toleratesDisrupted(p.state.Tolerations) }

// evictable reports whether an eviction would be asked for when the node is drained.
func (p *pod) evictable(now time.Time) bool {
	if !p.active || p.stays() {
		return false
	}
	held, _ := p.protected(now)
	return !held
}

var disruptedTaint = corev1.Taint{Key: api.TaintDisrupted, Effect: corev1.TaintEffectNoSchedule}

func toleratesDisrupted(tolerations []corev1.Toleration) bool {
	return tolerated(tolerations, &disruptedTaint)
}

// tolerated reports whether one of the tolerations covers a taint.
func tolerated(tolerations []corev1.Toleration, taint *corev1.Taint) bool {
	for i := range tolerations {
		t := &tolerations[i]
		if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
			continue
		}
		if t.Operator == corev1.TolerationOpExists || (t.Operator == "" || t.Operator == corev1.TolerationOpEqual) && t.Key != "" && t.Value == taint.Value {
			return true
		}
	}
	return false
}

// repelled returns the first taint that is not tolerated, of whatever effect.
func repelled(tolerations []corev1.Toleration, taints []corev1.Taint) *corev1.Taint {
	for i := range taints {
		if !tolerated(tolerations, &taints[i]) {
			return &taints[i]
		}
	}
	return nil
}

// selectorOf reads a label selector; nil and what cannot be read select nothing.
func selectorOf(s *metav1.LabelSelector) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return labels.Nothing()
	}
	return selector
}
