package nodes

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"flotilla/core/api"
)

// disrupted keeps new pods from a node that is to go, disruptedBeside from one that others look after.
var (
	disrupted       = corev1.Taint{Key: api.TaintDisrupted, Effect: corev1.TaintEffectNoSchedule}
	disruptedBeside = corev1.Taint{Key: api.TaintDisruptedBeside, Effect: corev1.TaintEffectNoSchedule}
)

// markOf is the taint of a node that is to go.
func markOf(others bool) *corev1.Taint {
	if others {
		return &disruptedBeside
	}
	return &disrupted
}

// outgoing reports whether some taints are those of a node that is to go.
func outgoing(taints []corev1.Taint) bool {
	return slices.ContainsFunc(taints, func(t corev1.Taint) bool { return t.MatchTaint(&disrupted) || t.MatchTaint(&disruptedBeside) })
}

// excluded is the value of the label that takes a node out of load balancers.
const excluded = "flotilla"

// care is what is wanted of one node.
type care struct {
	// id is the running disruption that holds the node, empty for none.
	id string
	// going says that the node is to be deleted.
	going bool
	// launch is what the node was made by, nil when an agent did not make it or is done with it.
	launch *launch
	// commanded says that it is known what the hub wants.
	commanded bool
	// leaving says that the member leaves the fleet.
	leaving bool
	// stamps are what nodes of pools get that carry none, by pool.
	stamps map[string]api.PoolStamp
	// claimed says that the node has a NodeClaim with Karpenter's own hash.
	claimed bool
}

// goesAs says that a node is to be deleted as it was before, for the same disruption.
func (c *care) goesAs(before *care) bool { return before.going && c.id == before.id }

// mark changes what is to be changed on a node.
func (c *care) mark(n *corev1.Node) {
	others := foreign(n, c.launch)
	if c.leaving && !c.going && (n.DeletionTimestamp == nil || !ours(n)) {
		c.release(n, others)
		return
	}
	if n.DeletionTimestamp == nil {
		c.rise(n, others)
	}
	c.finalize(n, others)
	c.taint(n, others)
	if n.DeletionTimestamp != nil && ours(n) {
		label(n, corev1.LabelNodeExcludeBalancers, excluded)
	}
}

// rise takes a node on its way from a machine to one that pods can use. What was launched waits for the
// provider's answer, which may know more of it.
func (c *care) rise(n *corev1.Node, others bool) {
	if c.launch != nil && c.launch.Launched == nil {
		return
	}
	if c.launch != nil && !others && n.Labels[api.LabelRegistered] != "true" {
		register(n, c.launch)
	}
	if !pooled(n) || others {
		return
	}
	n.Labels[api.LabelRegistered] = "true"
	if len(uninitialized(n)) == 0 {
		n.Labels[api.LabelInitialized] = "true"
	}
	c.adopt(n)
}

// finalize keeps our finalizer on the nodes that we look after, and off those that Karpenter does.
func (c *care) finalize(n *corev1.Node, others bool) {
	switch {
	case others:
		drop(n, api.FinalizerTermination)
	case n.DeletionTimestamp == nil && (pooled(n) || c.going) && !ours(n):
		n.Finalizers = append(n.Finalizers, api.FinalizerTermination)
	}
}

// taint taints a node that is to go, and takes the taint off one that is not, such as after a crash or
// an abort. On nodes of Karpenter, and on those of no NodePool, only a taint of our own is taken off.
func (c *care) taint(n *corev1.Node, others bool) {
	mark := markOf(others)
	at := slices.IndexFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(mark) })
	_, tagged := n.Annotations[api.AnnotationDisruption]
	switch {
	case c.id != "":
		annotate(n, api.AnnotationDisruption, c.id)
		fallthrough
	case n.DeletionTimestamp != nil && ours(n):
		if at < 0 {
			n.Spec.Taints = append(n.Spec.Taints, *mark)
		}
	case n.DeletionTimestamp == nil && c.commanded && (tagged || pooled(n) && !others):
		untaint(n, at)
	}
}

// release takes everything off that speaks of our coming back.
func (c *care) release(n *corev1.Node, others bool) {
	drop(n, api.FinalizerTermination)
	disown(n)
	if _, tagged := n.Annotations[api.AnnotationDisruption]; tagged || pooled(n) && !others {
		mark := markOf(others)
		untaint(n, slices.IndexFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(mark) }))
	}
}

func untaint(n *corev1.Node, at int) {
	delete(n.Annotations, api.AnnotationDisruption)
	if at >= 0 {
		n.Spec.Taints = slices.Delete(n.Spec.Taints, at, at+1)
	}
}

// pooled reports whether a node belongs to a NodePool.
func pooled(n *corev1.Node) bool { return n.Labels[api.LabelNodePool] != "" }

// ours reports whether a node waits for us before it goes.
func ours(n *corev1.Node) bool { return slices.Contains(n.Finalizers, api.FinalizerTermination) }

// foreign reports whether Karpenter looks after a node, or is about to: a node that nobody registered
// and we did not launch is one that it has just made.
func foreign(n *corev1.Node, by *launch) bool {
	if by != nil && by.Launched != nil && by.Launched.KeptBy != "" {
		return true
	}
	if slices.Contains(n.Finalizers, api.FinalizerKarpenter) {
		return true
	}
	for i := range n.OwnerReferences {
		if o := &n.OwnerReferences[i]; o.Kind == "NodeClaim" && strings.HasPrefix(o.APIVersion, api.GroupKarpenter+"/") {
			return true
		}
	}
	return by == nil && slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == api.TaintUnregistered })
}

func drop(n *corev1.Node, finalizer string) {
	n.Finalizers = slices.DeleteFunc(n.Finalizers, func(f string) bool { return f == finalizer })
}

func label(n *corev1.Node, key, value string) {
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	n.Labels[key] = value
}

func annotate(n *corev1.Node, key, value string) {
	if n.Annotations == nil {
		n.Annotations = map[string]string{}
	}
	n.Annotations[key] = value
}

// marked reports whether a node is as it is to be.
func (c *care) marked(n *corev1.Node) bool {
	wanted := *n
	wanted.Labels, wanted.Annotations = maps.Clone(n.Labels), maps.Clone(n.Annotations)
	wanted.Spec.Taints, wanted.Finalizers = slices.Clone(n.Spec.Taints), slices.Clone(n.Finalizers)
	c.mark(&wanted)
	return maps.Equal(wanted.Labels, n.Labels) && maps.Equal(wanted.Annotations, n.Annotations) &&
		slices.Equal(wanted.Finalizers, n.Finalizers) && equality.Semantic.DeepEqual(wanted.Spec.Taints, n.Spec.Taints)
}
