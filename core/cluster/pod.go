package cluster

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

// Pod is one pod, parsed.
type Pod struct {
	State    *api.PodState
	Key      string // namespace/name
	UID      string
	Requests Vector
	Cost     float64
	// Active pods run or will; movable ones need a place when their node goes.
	Active, Movable bool
	Daemon, Mirror  bool
	// Plain pods restrict nothing about their node but its free capacity.
	Plain bool
	// Tangled pods demand more of nodes and of other pods than decisions follow: they are not moved.
	Tangled bool
}

// NewPod parses a pod, which is not put into the cluster.
func (c *Cluster) NewPod(s *api.PodState) *Pod {
	p := &Pod{}
	c.fillPod(p, s)
	return p
}

func (c *Cluster) fillPod(p *Pod, s *api.PodState) {
	p.State, p.Key = s, s.Namespace+"/"+s.Name
	p.UID = cmp.Or(s.UID, p.Key)
	p.Requests = c.Resources.vec(s.Requests)
	p.Requests.Base[PodsIndex] = 1
	p.Daemon, p.Mirror = s.Owner == ownerDaemonSet, s.Owner == ownerNode
	p.Active = !terminal(s) && !s.Terminating
	p.Movable = Movable(s)
	p.Plain = len(s.NodeSelector) == 0 && s.Affinity == nil && len(s.Spread) == 0 && len(s.Ports) == 0 && len(s.Volumes) == 0 && len(s.Tolerations) == 0
	p.Tangled = tangled(s)
	p.Cost = evictionCost(s)
}

// Movable reports whether a pod needs a place when its node goes.
func Movable(s *api.PodState) bool {
	return !terminal(s) && (!s.Terminating || s.Owner == ownerStatefulSet) && s.Owner != ownerDaemonSet && s.Owner != ownerNode
}

func terminal(s *api.PodState) bool {
	return s.Phase == string(corev1.PodSucceeded) || s.Phase == string(corev1.PodFailed)
}

// evictionCost is how much moving a pod disturbs, from -10 to 10.
func evictionCost(s *api.PodState) float64 {
	cost := 1 + float64(s.Priority)/(1<<25)
	if own, err := strconv.ParseInt(s.Annotations[api.AnnotationDisruptionCost], 10, 32); err == nil {
		cost += float64(own) / (1 << 27)
	} else if own, err := strconv.ParseInt(s.Annotations[api.AnnotationDeletionCost], 10, 32); err == nil {
		cost += float64(own) / (1 << 27)
	}
	return min(10, max(-10, cost))
}

// Protected reports whether the pod's do-not-disrupt annotation holds at now: "true", or a duration
// since its start that is not over. The second value is when that ends, zero for never.
func (p *Pod) Protected(now time.Time) (bool, time.Time) {
	v, ok := p.State.Annotations[api.AnnotationDoNotDisrupt]
	if !ok || !p.Active {
		return false, time.Time{}
	}
	if v == "true" {
		return true, time.Time{}
	}
	d, err := time.ParseDuration(v)
	if err != nil || d <= 0 {
		return false, time.Time{}
	}
	if p.State.Started.IsZero() {
		return true, time.Time{}
	}
	until := p.State.Started.Add(d)
	return now.Before(until), until
}

// Stays reports whether no drain evicts a pod: it ends with its machine.
func (p *Pod) Stays() bool { return p.Mirror || toleratesDisrupted(p.State.Tolerations) }

// Evictable reports whether an eviction would be asked for when the node is drained.
func (p *Pod) Evictable(now time.Time) bool {
	if !p.Active || p.Stays() {
		return false
	}
	held, _ := p.Protected(now)
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

// Repelled returns the first taint that is not tolerated, of whatever effect.
func Repelled(tolerations []corev1.Toleration, taints []corev1.Taint) *corev1.Taint {
	for i := range taints {
		if !tolerated(tolerations, &taints[i]) {
			return &taints[i]
		}
	}
	return nil
}

// SelectorOf reads a label selector; nil and what cannot be read select nothing.
func SelectorOf(s *metav1.LabelSelector) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return labels.Nothing()
	}
	return selector
}

// defaultGrace is what a pod is given that does not say.
const defaultGrace = 30 * time.Second

// Grace is what a pod is given to end.
func (p *Pod) Grace() time.Duration {
	if g := p.State.GraceSeconds; g != nil {
		return time.Duration(*g) * time.Second
	}
	return defaultGrace
}
