package cluster

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
)

// nodeAnnotations and podAnnotations are those that decisions read.
var (
	nodeAnnotations = []string{api.AnnotationDoNotDisrupt, api.AnnotationPoolHash, api.AnnotationPoolHashLevel, api.AnnotationClassHash, api.AnnotationStampedPool}
	podAnnotations  = []string{api.AnnotationDoNotDisrupt, api.AnnotationDeletionCost, api.AnnotationDisruptionCost}
)

func only(annotations map[string]string, keys []string) map[string]string {
	var out map[string]string
	for _, k := range keys {
		if v, ok := annotations[k]; ok {
			if out == nil {
				out = map[string]string{}
			}
			out[k] = v
		}
	}
	return out
}

// ObserveNode reduces a Kubernetes node and its pods to what decisions read. Attach limits are those
// of its CSINode, by driver; nil for none. The agent calls it for events, the command line for files.
func ObserveNode(n *corev1.Node, pods []*corev1.Pod, volumes *Volumes, attach map[string]int) api.NodeState {
	return observeNode(n, pods, attach, func(p *corev1.Pod) api.PodState { return ObservePod(p, volumes) })
}

func observeNode(n *corev1.Node, pods []*corev1.Pod, attach map[string]int, observe func(*corev1.Pod) api.PodState) api.NodeState {
	_, pooled := n.Labels[api.LabelNodePool]
	finalized := slices.Contains(n.Finalizers, api.FinalizerKarpenter) || slices.Contains(n.Finalizers, api.FinalizerTermination)
	s := api.NodeState{
		Name: n.Name, UID: string(n.UID), Labels: n.Labels, Annotations: only(n.Annotations, nodeAnnotations),
		Taints: slices.Clone(n.Spec.Taints), Capacity: capacity.Amounts(n.Status.Capacity), Allocatable: capacity.Amounts(n.Status.Allocatable),
		Created: n.CreationTimestamp, Managed: pooled || finalized, Deleting: n.DeletionTimestamp != nil,
		Initialized: n.Labels[api.LabelInitialized] == "true", AttachLimits: attach,
		ExpireAfter: n.Annotations[api.AnnotationExpireAfter], TerminationGracePeriod: n.Annotations[api.AnnotationTerminationGracePeriod],
		InstanceTerminating: n.Annotations[api.AnnotationInstanceTerminating] == "true", Origin: observeOrigin(n),
	}
	if n.Spec.Unschedulable && !slices.ContainsFunc(s.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnschedulable }) {
		s.Taints = append(s.Taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	s.Since = n.CreationTimestamp
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			s.Ready = c.Status == corev1.ConditionTrue
			if s.Initialized && s.Ready && c.LastTransitionTime.After(s.Since.Time) {
				s.Since = c.LastTransitionTime
			}
		}
	}
	s.Pods = slices.Grow(s.Pods, len(pods)) // none stays nil
	for _, p := range pods {
		state := observe(p)
		s.Pods = append(s.Pods, state)
		if at := podEvent(p); state.Owner != ownerDaemonSet && at.After(s.LastPodEvent.Time) {
			s.LastPodEvent = metav1.NewTime(at)
		}
	}
	slices.SortFunc(s.Pods, func(a, b api.PodState) int {
		return slices.Compare([]string{a.Namespace, a.Name}, []string{b.Namespace, b.Name})
	})
	return s
}

// podEvent is when a pod was last bound, ended, or began to terminate, as far as it tells.
func podEvent(p *corev1.Pod) time.Time {
	at := p.CreationTimestamp.Time
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue && c.LastTransitionTime.After(at) {
			at = c.LastTransitionTime.Time
		}
	}
	if d := p.DeletionTimestamp; d != nil && p.DeletionGracePeriodSeconds != nil {
		if began := d.Add(-time.Duration(*p.DeletionGracePeriodSeconds) * time.Second); began.After(at) {
			at = began
		}
	}
	return at
}

// ObservePod reduces a Kubernetes pod to what decisions read.
func ObservePod(p *corev1.Pod, volumes *Volumes) api.PodState {
	s := api.PodState{
		Namespace: p.Namespace, Name: p.Name, UID: string(p.UID), Labels: p.Labels, Annotations: only(p.Annotations, podAnnotations),
		Requests: Requests(p), NodeSelector: p.Spec.NodeSelector, Affinity: p.Spec.Affinity, Tolerations: p.Spec.Tolerations,
		Spread: p.Spec.TopologySpreadConstraints, Volumes: volumes.of(p), Phase: string(p.Status.Phase), Created: p.CreationTimestamp,
		Terminating: p.DeletionTimestamp != nil, GraceSeconds: p.Spec.TerminationGracePeriodSeconds,
		Critical: p.Spec.PriorityClassName == "system-cluster-critical" || p.Spec.PriorityClassName == "system-node-critical",
	}
	if o := metav1.GetControllerOf(p); o != nil {
		s.Owner, s.OwnerName = o.Kind, o.Name
	}
	if p.Spec.Priority != nil {
		s.Priority = *p.Spec.Priority
	}
	if p.Status.StartTime != nil {
		s.Started = *p.Status.StartTime
	}
	if p.DeletionTimestamp != nil {
		s.GoneBy = *p.DeletionTimestamp
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse {
			s.NotReady = true
		}
	}
	for i := range p.Spec.Containers {
		for _, port := range p.Spec.Containers[i].Ports {
			if port.HostPort != 0 {
				s.Ports = append(s.Ports, api.HostPort{IP: port.HostIP, Port: port.HostPort, Protocol: string(port.Protocol)})
			}
		}
	}
	return s
}

// Provisionable reports whether a pod waits for room that a new node could give.
func Provisionable(p *corev1.Pod) bool {
	if p.Spec.NodeName != "" || p.Status.NominatedNodeName != "" || p.DeletionTimestamp != nil {
		return false
	}
	if o := metav1.GetControllerOf(p); o != nil && (o.Kind == ownerDaemonSet || o.Kind == ownerNode) {
		return false
	}
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable
	})
}

// Requests are what a pod takes of its node: the larger of its containers with their sidecars and of
// its largest init container with the sidecars begun before it, and overhead. A container that is
// being resized counts with the larger of both sizes.
func Requests(p *corev1.Pod) api.Amounts {
	total, peak, sidecars := api.Amounts{}, api.Amounts{}, api.Amounts{}
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		own := capacity.Amounts(c.Resources.Requests)
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			Plus(sidecars, own)
			most(peak, sidecars)
			continue
		}
		Plus(own, sidecars)
		most(peak, own)
	}
	for i := range p.Spec.Containers {
		own := capacity.Amounts(p.Spec.Containers[i].Resources.Requests)
		for j := range p.Status.ContainerStatuses {
			if st := &p.Status.ContainerStatuses[j]; st.Name == p.Spec.Containers[i].Name {
				most(own, capacity.Amounts(st.AllocatedResources))
			}
		}
		Plus(total, own)
	}
	Plus(total, sidecars)
	most(total, peak)
	Plus(total, capacity.Amounts(p.Spec.Overhead))
	return total
}

// Plus adds more to into.
func Plus(into, more api.Amounts) {
	for k, n := range more {
		into[k] += n
	}
}

func most(into, other api.Amounts) {
	for k, n := range other {
		into[k] = max(into[k], n)
	}
}

// ObserveBudget reduces a PodDisruptionBudget to what decisions read.
func ObserveBudget(b *policyv1.PodDisruptionBudget) api.PodBudget {
	return api.PodBudget{
		Namespace: b.Namespace, Name: b.Name, Selector: b.Spec.Selector, MinAvailable: b.Spec.MinAvailable, MaxUnavailable: b.Spec.MaxUnavailable,
		Allowed:     b.Status.DisruptionsAllowed,
		AlwaysAllow: b.Spec.UnhealthyPodEvictionPolicy != nil && *b.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow,
	}
}
