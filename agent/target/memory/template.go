package memory

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
	kindDeployment  = "Deployment"
	kindReplicaSet  = "ReplicaSet"
	kindStatefulSet = "StatefulSet"
	kindDaemonSet   = "DaemonSet"
	kindPod         = "Pod"
)

// defaultGrace is what a pod that says nothing gets to end.
const defaultGrace = 30 * time.Second

// template is what the pods of a workload are made from, parsed once for all of them.
type template struct {
	text string // of what makes pods new when it changes
	hash string
	// pod has labels, annotations, owner and spec.
	pod   corev1.Pod
	node  string // that the spec names, empty for the scheduler's choice
	needs amounts
	grace time.Duration
	// plain pods ask for nothing of their node but room; keeps says that they keep other pods away.
	plain, keeps bool
}

// workload reports whether the object runs pods.
func (s *stored) workload() bool {
	switch s.kind() {
	case "Deployment.apps", "StatefulSet.apps", "ReplicaSet.apps", "DaemonSet.apps", "Pod":
		return true
	}
	return false
}

func (s *stored) bare() bool { return s.object.GetKind() == kindPod }

// template reads what pods of the workload are made from. What cannot be read is left out, as nothing
// here validates it.
func (s *stored) template() *template {
	if s.parsed != nil && s.parsedFrom == s.object {
		return s.parsed
	}
	t := &template{}
	t.text, t.pod = s.podTemplate()
	t.node, t.pod.Spec.NodeName = t.pod.Spec.NodeName, ""
	t.hash = suffix(t.text, 10)
	s.own(t)
	t.needs = amountsOf(requests(&t.pod.Spec))
	t.needs.pods = 1
	t.grace = defaultGrace
	if g := t.pod.Spec.TerminationGracePeriodSeconds; g != nil {
		t.grace = time.Duration(*g) * time.Second
	} else {
		t.pod.Spec.TerminationGracePeriodSeconds = new(int64(defaultGrace / time.Second))
	}
	if s.object.GetKind() == kindDaemonSet {
		t.pod.Spec.Tolerations = append(t.pod.Spec.Tolerations, daemonTolerations...)
	}
	t.judge()
	s.parsed, s.parsedFrom = t, s.object
	return t
}

// podTemplate is the pod that the workload describes; the text of a bare pod is that of its spec alone.
func (s *stored) podTemplate() (string, corev1.Pod) {
	pod, labels, annotations := corev1.Pod{}, s.object.GetLabels(), s.object.GetAnnotations()
	found, _, _ := unstructured.NestedMap(s.object.Object, "spec")
	if s.bare() {
		text, _ := json.Marshal(found)
		_ = strict.FromUnstructured(found, &pod.Spec)
		pod.Labels, pod.Annotations, pod.OwnerReferences = labels, annotations, s.object.GetOwnerReferences()
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
func (s *stored) own(t *template) {
	t.pod.Namespace = s.object.GetNamespace()
	owner := metav1.OwnerReference{
		APIVersion: s.object.GetAPIVersion(), Kind: s.object.GetKind(), Name: s.object.GetName(), UID: s.object.GetUID(),
		Controller: new(true), BlockOwnerDeletion: new(true),
	}
	switch owner.Kind {
	case kindPod:
		return
	case kindDeployment:
		owner.Kind, owner.Name, owner.UID = kindReplicaSet, owner.Name+"-"+t.hash, owner.UID+"-"+types.UID(t.hash)
		t.pod.Labels["pod-template-hash"] = t.hash
	case kindStatefulSet, kindDaemonSet:
		t.pod.Labels["controller-revision-hash"] = s.object.GetName() + "-" + t.hash
	}
	t.pod.OwnerReferences = []metav1.OwnerReference{owner}
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
func (t *template) judge() {
	spec := &t.pod.Spec
	t.plain = len(spec.NodeSelector) == 0 && spec.Affinity == nil && len(spec.TopologySpreadConstraints) == 0
	if a := spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		t.keeps = len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0
	}
	for i := range spec.Volumes {
		t.plain = t.plain && spec.Volumes[i].PersistentVolumeClaim == nil && spec.Volumes[i].Ephemeral == nil
	}
	for i := range spec.Containers {
		for _, port := range spec.Containers[i].Ports {
			t.plain = t.plain && port.HostPort == 0
		}
	}
}

// safe are the letters of generated names, as in Kubernetes: no vowels, nothing alike.
const safe = "bcdfghjklmnpqrstvwxz2456789"

// suffix makes n letters of a text, the same for equal texts.
func suffix(text string, n int) string {
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

func (s *stored) replicas() int64 {
	if s.bare() {
		return 1
	}
	n, ok, err := unstructured.NestedInt64(s.object.Object, "spec", "replicas")
	if !ok || err != nil {
		return 1
	}
	return max(n, 0)
}
