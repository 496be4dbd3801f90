package podspec

import (
	"encoding/json"
	"hash/fnv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"flotilla/core/strict"
)

// Kinds that run pods.
const (
	KindDeployment  = "Deployment"
	KindReplicaSet  = "ReplicaSet"
	KindStatefulSet = "StatefulSet"
	KindDaemonSet   = "DaemonSet"
	KindPod         = "Pod"
)

// defaultGrace is what a pod that says nothing gets to end.
const defaultGrace = 30 * time.Second

// Template is what the pods of a workload are made from, parsed once for all of them.
type Template struct {
	Text string // of what makes pods new when it changes
	Hash string
	// Pod has labels, annotations, owner and spec.
	Pod   corev1.Pod
	Node  string // that the spec names, empty for the scheduler's choice
	Needs Amounts
	Grace time.Duration
	// Plain pods ask for nothing of their node but room; Keeps says that they keep other pods away.
	Plain, Keeps bool
}

// Read reads what pods of a workload are made from. What cannot be read is left out, as nothing here validates it.
func Read(workload *unstructured.Unstructured) *Template {
	t := &Template{}
	t.Text, t.Pod = podTemplate(workload)
	t.Node, t.Pod.Spec.NodeName = t.Pod.Spec.NodeName, ""
	t.Hash = Suffix(t.Text, 10)
	t.own(workload)
	t.Needs = AmountsOf(requests(&t.Pod.Spec))
	t.Needs.Pods = 1
	t.Grace = defaultGrace
	if g := t.Pod.Spec.TerminationGracePeriodSeconds; g != nil {
		t.Grace = time.Duration(*g) * time.Second
	} else {
		t.Pod.Spec.TerminationGracePeriodSeconds = new(int64(defaultGrace / time.Second))
	}
	if workload.GetKind() == KindDaemonSet {
		t.Pod.Spec.Tolerations = append(t.Pod.Spec.Tolerations, daemonTolerations...)
	}
	t.judge()
	return t
}

// podTemplate is the pod that the workload describes; the text of a bare pod is that of its spec alone.
func podTemplate(workload *unstructured.Unstructured) (string, corev1.Pod) {
	pod, labels, annotations := corev1.Pod{}, workload.GetLabels(), workload.GetAnnotations()
	found, _, _ := unstructured.NestedMap(workload.Object, "spec")
	if workload.GetKind() == KindPod {
		text, _ := json.Marshal(found)
		_ = strict.FromUnstructured(found, &pod.Spec)
		pod.Labels, pod.Annotations, pod.OwnerReferences = labels, annotations, workload.GetOwnerReferences()
		return string(text), pod
	}
	found, _, _ = unstructured.NestedMap(found, "template")
	text, _ := json.Marshal(found)
	var read corev1.PodTemplateSpec
	_ = strict.FromUnstructured(found, &read)
	pod.Labels, pod.Annotations, pod.Spec = read.Labels, read.Annotations, read.Spec
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	return string(text), pod
}

// own makes the template's pods those of their controller.
func (t *Template) own(workload *unstructured.Unstructured) {
	t.Pod.Namespace = workload.GetNamespace()
	owner := metav1.OwnerReference{
		APIVersion: workload.GetAPIVersion(), Kind: workload.GetKind(), Name: workload.GetName(), UID: workload.GetUID(),
		Controller: new(true), BlockOwnerDeletion: new(true),
	}
	switch owner.Kind {
	case KindPod:
		return
	case KindDeployment:
		owner.Kind, owner.Name, owner.UID = KindReplicaSet, owner.Name+"-"+t.Hash, owner.UID+"-"+types.UID(t.Hash)
		t.Pod.Labels["pod-template-hash"] = t.Hash
	case KindStatefulSet, KindDaemonSet:
		t.Pod.Labels["controller-revision-hash"] = workload.GetName() + "-" + t.Hash
	}
	t.Pod.OwnerReferences = []metav1.OwnerReference{owner}
}

// daemonTolerations are those that the daemon controller gives its pods.
var daemonTolerations = []corev1.Toleration{
	{Key: corev1.TaintNodeNotReady, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
	{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute},
	{Key: corev1.TaintNodeDiskPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeMemoryPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodePIDPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
	{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
}

// judge tells what the scheduler must look at.
func (t *Template) judge() {
	spec := &t.Pod.Spec
	t.Plain = len(spec.NodeSelector) == 0 && spec.Affinity == nil && len(spec.TopologySpreadConstraints) == 0
	if a := spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		t.Keeps = len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0
	}
	for i := range spec.Volumes {
		t.Plain = t.Plain && spec.Volumes[i].PersistentVolumeClaim == nil && spec.Volumes[i].Ephemeral == nil
	}
	for i := range spec.Containers {
		for _, port := range spec.Containers[i].Ports {
			t.Plain = t.Plain && port.HostPort == 0
		}
	}
}

// safe are the letters of generated names, as in Kubernetes: no vowels, nothing alike.
const safe = "bcdfghjklmnpqrstvwxz2456789"

// Suffix makes n letters of a text, the same for equal texts.
func Suffix(text string, n int) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	sum := h.Sum64()
	out := make([]byte, n)
	for i := range out {
		out[i] = safe[sum%uint64(len(safe))]
		sum /= uint64(len(safe))
	}
	return string(out)
}
