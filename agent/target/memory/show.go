package memory

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/apply"

	"flotilla/agent/target/memory/podspec"
)

// show is a pod as the API server shows it. It is made anew when it changed, and never written to.
func (m *Member) show(p *pod) *corev1.Pod {
	ready := p.isReady(m.clock.Now(), m.faults.StuckAt(apply.RefOf(p.of.Object)))
	if p.look != nil && p.lookReady == ready {
		return p.look
	}
	out := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: podspec.KindPod}, ObjectMeta: p.made.Pod.ObjectMeta, Spec: p.made.Pod.Spec}
	out.Name, out.Namespace, out.UID, out.CreationTimestamp = p.Name, p.of.Object.GetNamespace(), p.UID, seconds(p.Created)
	if p.of.Object.GetKind() == podspec.KindStatefulSet {
		out.Labels = maps.Clone(out.Labels)
		out.Labels["statefulset.kubernetes.io/pod-name"], out.Labels["apps.kubernetes.io/pod-index"] = p.Name, strconv.Itoa(p.Ordinal)
	}
	if !p.Ending.IsZero() {
		out.DeletionTimestamp, out.DeletionGracePeriodSeconds = new(seconds(p.Ending)), new(int64(p.Grace/time.Second))
	}
	showStatus(out, p, ready)
	p.look, p.lookReady = out, ready
	return out
}

func showStatus(out *corev1.Pod, p *pod, ready bool) {
	if p.on == nil {
		out.Status.Phase = corev1.PodPending
		out.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			Message: fmt.Sprintf("0/%d nodes are available: %s", p.among, p.why), LastTransitionTime: seconds(p.Created),
		}}
		return
	}
	out.Spec.NodeName = p.on.Name
	out.Status.Phase, out.Status.StartTime = corev1.PodRunning, new(seconds(p.Bound))
	readiness := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: seconds(p.Ready)}
	if !ready {
		readiness.Status, readiness.Reason, readiness.LastTransitionTime = corev1.ConditionFalse, "ContainersNotReady", seconds(p.Bound)
	}
	out.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: seconds(p.Bound)}, readiness,
	}
}

// seconds is a time as an API server keeps it.
func seconds(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

// showNode is a node as the API server shows it, made anew when it changed and never written to.
func (m *Member) showNode(n *node) *corev1.Node {
	if n.look != nil {
		return n.look
	}
	out := &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}}
	out.Name, out.UID, out.CreationTimestamp = n.Name, n.UID, seconds(n.Created)
	out.Labels, out.Annotations, out.Finalizers = maps.Clone(n.Labels), maps.Clone(n.Annotations), slices.Clone(n.Finalizers)
	if !n.Deleting.IsZero() {
		out.DeletionTimestamp, out.DeletionGracePeriodSeconds = new(seconds(n.Deleting)), new(int64(0))
	}
	out.Spec = corev1.NodeSpec{ProviderID: m.providerID(n.Name), Unschedulable: n.Unschedulable, Taints: slices.Clone(n.taints)}
	out.Status.Capacity, out.Status.Allocatable = podspec.Room(n.Capacity), podspec.Room(n.Allocatable)
	out.Status.NodeInfo.KubeletVersion, out.Status.NodeInfo.OSImage = n.Kubelet, n.Image
	out.Status.NodeInfo.OperatingSystem, out.Status.NodeInfo.Architecture = "linux", "amd64"
	ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastTransitionTime: seconds(n.UpSince)}
	switch {
	case n.Lost:
		ready.Status, ready.Reason = corev1.ConditionUnknown, "NodeStatusUnknown"
	case !n.Up:
		ready.Status, ready.Reason = corev1.ConditionFalse, "KubeletNotReady"
	}
	out.Status.Conditions = []corev1.NodeCondition{ready}
	n.look = out
	return out
}

func (m *Member) providerID(node string) string { return "memory://" + m.name + "/" + node }
