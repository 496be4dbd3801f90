package nodes

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
)

// newLaunch is the launch of a replacement from the template of its pool. What the node is stamped with
// is settled here and stays, whatever becomes of the pool: that is how drift and expiry are told (sections
// 11 and 12). do-not-disrupt is not stamped: in a template it protects all nodes of the pool, for as long
// as it stands there (N14).
func newLaunch(member, id string, r *api.NodeReplacement, pool *api.PoolTemplate, now time.Time) launch {
	spec := &pool.Template.Spec
	l := api.NodeLaunch{
		Name: r.Name, Member: member, Pool: r.Pool, NodeClass: spec.NodeClassRef, InstanceTypes: r.InstanceTypes, Types: r.Types,
		Requirements: r.Requirements, Labels: map[string]string{}, Annotations: map[string]string{},
		Taints: spec.Taints, StartupTaints: spec.StartupTaints, Requests: r.Requests,
	}
	maps.Copy(l.Labels, pool.Template.Metadata.Labels)
	l.Labels[api.LabelNodePool] = r.Pool
	maps.Copy(l.Annotations, pool.Template.Metadata.Annotations)
	delete(l.Annotations, api.AnnotationDoNotDisrupt)
	var startup []string
	for _, t := range spec.StartupTaints {
		taint := t.Taint()
		startup = append(startup, taint.ToString())
	}
	for key, value := range map[string]string{
		api.AnnotationLaunch: r.Name, api.AnnotationStampedPool: r.Pool, api.AnnotationPoolHash: pool.Hash, api.AnnotationPoolHashLevel: capacity.PoolHashLevel,
		api.AnnotationClassHash: pool.ClassHash, api.AnnotationExpireAfter: pool.ExpireAfter,
		api.AnnotationTerminationGracePeriod: spec.TerminationGracePeriod, api.AnnotationStartupTaints: strings.Join(startup, ","),
		api.AnnotationAwaitedResources: strings.Join(awaited(r.Requests), ","),
	} {
		if value != "" {
			l.Annotations[key] = value
		}
	}
	return launch{Disruption: id, Begun: now, Launch: l, Defaults: capacity.DefaultLabels(r.Requirements)}
}

// awaited are the extended resources among those a node is asked for: device plugins bring them late.
func awaited(requests api.Amounts) []string {
	var out []string
	for name, n := range requests {
		if n > 0 && strings.Contains(name, "/") {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// register makes a node that was launched one of its pool: it gets what its launch says, and is open for
// pods from now on as far as we are concerned. A node that came up with all that may be rid of its startup
// taints by now.
func register(n *corev1.Node, by *launch) {
	taints := by.Launch.Taints
	if n.Annotations[api.AnnotationLaunch] != by.Launch.Name {
		taints = slices.Concat(taints, by.Launch.StartupTaints)
	}
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	for _, more := range []map[string]string{by.labels(), by.Defaults} {
		for key, value := range more {
			if _, known := n.Labels[key]; !known {
				n.Labels[key] = value
			}
		}
	}
	maps.Copy(n.Labels, by.Launch.Labels)
	for key, value := range by.Launch.Annotations {
		annotate(n, key, value)
	}
	for _, t := range taints {
		taint := t.Taint()
		if !slices.ContainsFunc(n.Spec.Taints, func(o corev1.Taint) bool { return o.MatchTaint(&taint) }) {
			n.Spec.Taints = append(n.Spec.Taints, taint)
		}
	}
	n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == api.TaintUnregistered })
	n.Labels[api.LabelRegistered] = "true"
}

// uninitialized lists what a node lacks to be initialized, none when it is. Once it was it
// stays so.
func uninitialized(n *corev1.Node) []string {
	if n.Labels[api.LabelInitialized] == "true" {
		return nil
	}
	var lacks []string
	if n.Labels[api.LabelRegistered] != "true" {
		lacks = append(lacks, "it is not registered")
	}
	if !ready(n) {
		lacks = append(lacks, "it is not Ready")
	}
	for i := range n.Spec.Taints {
		if t := &n.Spec.Taints[i]; ephemeral(t) || startup(n, t) {
			lacks = append(lacks, "it has taint "+t.ToString())
		}
	}
	for _, name := range listed(n, api.AnnotationAwaitedResources) {
		if q := n.Status.Allocatable[corev1.ResourceName(name)]; q.IsZero() {
			lacks = append(lacks, "it has no "+name+" to give")
		}
	}
	return lacks
}

func ready(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// uninitializedByCloud is the taint of a node that its cloud provider has not looked at.
const uninitializedByCloud = "node.cloudprovider.kubernetes.io/uninitialized"

// ephemeral reports a taint that goes by itself once a node is up.
func ephemeral(t *corev1.Taint) bool {
	switch t.Key {
	case corev1.TaintNodeNotReady:
		return t.Effect != corev1.TaintEffectPreferNoSchedule
	case corev1.TaintNodeUnreachable:
		return t.Effect == corev1.TaintEffectNoSchedule
	case uninitializedByCloud:
		return t.Value == "true"
	case api.TaintUnregistered:
		return true
	}
	return strings.HasPrefix(t.Key, "readiness.k8s.io/")
}

// startup reports a taint that somebody is to take off once he is done with the node.
func startup(n *corev1.Node, t *corev1.Taint) bool {
	return slices.ContainsFunc(listed(n, api.AnnotationStartupTaints), func(text string) bool {
		name, effect, _ := strings.Cut(text, ":")
		key, _, _ := strings.Cut(name, "=")
		return key == t.Key && effect == string(t.Effect)
	})
}

func listed(n *corev1.Node, annotation string) []string {
	text := n.Annotations[annotation]
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}
