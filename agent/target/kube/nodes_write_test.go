package kube

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A node is changed by what changed, for the version that was read; what may not be changed is left out.
func TestANodeIsPatched(t *testing.T) {
	taint := corev1.Taint{Key: "karpenter.sh/disrupted", Effect: corev1.TaintEffectNoSchedule}
	node := func() *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name: "n1", UID: "u1", ResourceVersion: "7", Labels: map[string]string{"a": "1", "b": "2"}, Finalizers: []string{"theirs"},
			},
			Spec: corev1.NodeSpec{Taints: []corev1.Taint{taint}},
		}
	}
	const head = `"resourceVersion":"7","uid":"u1"}`
	for name, one := range map[string]struct {
		change func(*corev1.Node)
		wanted string
	}{
		"labels":      {func(n *corev1.Node) { n.Labels = map[string]string{"a": "1", "c": ""} }, `{"metadata":{"labels":{"b":null,"c":""},` + head + `,"spec":{}}`},
		"annotations": {func(n *corev1.Node) { n.Annotations = map[string]string{"a": "x"} }, `{"metadata":{"annotations":{"a":"x"},` + head + `,"spec":{}}`},
		"finalizers":  {func(n *corev1.Node) { n.Finalizers = nil }, `{"metadata":{"finalizers":null,` + head + `,"spec":{}}`},
		"taints":      {func(n *corev1.Node) { n.Spec.Taints = nil }, `{"metadata":{` + head + `,"spec":{"taints":null}}`},
		"cordon":      {func(n *corev1.Node) { n.Spec.Unschedulable = true }, `{"metadata":{` + head + `,"spec":{"unschedulable":true}}`},
		"nothing":     {func(n *corev1.Node) { n.Annotations = map[string]string{} }, ""},
		"not its to do": {func(n *corev1.Node) {
			n.Spec.PodCIDR, n.Status.Capacity = "10.0.0.0/8", corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("64")}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			after := node()
			one.change(after)
			patch, err := nodePatch(node(), after)
			require.NoError(t, err)
			require.Equal(t, one.wanted, string(patch))
		})
	}
}

// Of a pod stays what decides where it runs, and nothing of what runs in it.
func TestAPodIsThin(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "proxy", RestartPolicy: &always, Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "hunter2"}}}},
		Containers: []corev1.Container{{
			Name: "web", Image: "web:v1", Args: []string{"serve"}, Ports: []corev1.ContainerPort{{HostPort: 80}},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
		}},
	}}
	thin, err := thinPod(pod)
	require.NoError(t, err)
	require.Equal(t, &corev1.Pod{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "proxy", RestartPolicy: &always}},
		Containers: []corev1.Container{{
			Name: "web", Image: "web:v1", Ports: []corev1.ContainerPort{{HostPort: 80}},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
		}},
	}}, thin)
}
