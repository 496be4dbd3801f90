package podspec

import (
	corev1 "k8s.io/api/core/v1"
)

// requests are what a pod takes of its node: what its containers ask for with those that run beside them all the time, or
// what its start takes where that is more, and its overhead.
func requests(spec *corev1.PodSpec) corev1.ResourceList {
	beside, start := corev1.ResourceList{}, corev1.ResourceList{}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			beside = together(beside, c.Resources.Requests)
			start = larger(start, beside)
			continue
		}
		start = larger(start, together(beside, c.Resources.Requests))
	}
	run := beside
	for i := range spec.Containers {
		run = together(run, spec.Containers[i].Resources.Requests)
	}
	return together(larger(run, start), spec.Overhead)
}

func together(a, b corev1.ResourceList) corev1.ResourceList {
	out := a.DeepCopy()
	if out == nil {
		out = corev1.ResourceList{}
	}
	for name, more := range b {
		sum := out[name]
		sum.Add(more)
		out[name] = sum
	}
	return out
}

func larger(a, b corev1.ResourceList) corev1.ResourceList {
	out := a.DeepCopy()
	for name, other := range b {
		if one, has := out[name]; !has || one.Cmp(other) < 0 {
			out[name] = other
		}
	}
	return out
}
