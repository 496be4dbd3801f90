package podspec

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Amounts are resources: millicores, bytes, pods, and the rest by name.
type Amounts struct {
	CPU, Memory, Pods int64
	More              map[string]int64
}

// AmountsOf reads them.
func AmountsOf(list corev1.ResourceList) Amounts {
	a := Amounts{}
	for name, q := range list {
		switch name {
		case corev1.ResourceCPU:
			a.CPU = q.MilliValue()
		case corev1.ResourceMemory:
			a.Memory = q.Value()
		case corev1.ResourcePods:
			a.Pods = q.Value()
		default:
			if a.More == nil {
				a.More = map[string]int64{}
			}
			a.More[string(name)] = q.Value()
		}
	}
	return a
}

// Add adds b, sign times.
func (a *Amounts) Add(b *Amounts, sign int64) {
	a.CPU += sign * b.CPU
	a.Memory += sign * b.Memory
	a.Pods += sign * b.Pods
	for name, n := range b.More {
		if a.More == nil {
			a.More = map[string]int64{}
		}
		a.More[name] += sign * n
	}
}

// Short names the resource of which there is too little for b in what is free, empty when none.
func (a *Amounts) Short(b *Amounts) string {
	switch {
	case b.CPU > 0 && b.CPU > a.CPU:
		return string(corev1.ResourceCPU)
	case b.Memory > 0 && b.Memory > a.Memory:
		return string(corev1.ResourceMemory)
	case b.Pods > a.Pods:
		return string(corev1.ResourcePods)
	}
	for _, name := range slices.Sorted(maps.Keys(b.More)) {
		if n := b.More[name]; n > 0 && n > a.More[name] {
			return name
		}
	}
	return ""
}

// List writes amounts as Kubernetes does, pods left out.
func (a *Amounts) List() corev1.ResourceList {
	out := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(a.CPU, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(a.Memory, resource.BinarySI),
	}
	for name, n := range a.More {
		out[corev1.ResourceName(name)] = *resource.NewQuantity(n, resource.DecimalSI)
	}
	return out
}

// Room is what a node can hold of every resource: what it was made with, and what every node has that
// is not said otherwise.
func Room(given corev1.ResourceList) corev1.ResourceList {
	out := given.DeepCopy()
	if out == nil {
		out = corev1.ResourceList{}
	}
	for name, n := range map[corev1.ResourceName]resource.Quantity{
		corev1.ResourcePods: *resource.NewQuantity(defaultPods, resource.DecimalSI), corev1.ResourceEphemeralStorage: *resource.NewQuantity(defaultStorage, resource.BinarySI),
	} {
		if _, said := out[name]; !said {
			out[name] = n
		}
	}
	return out
}

// What a node has that nobody said otherwise of.
const (
	defaultPods    = 110
	defaultStorage = 128 << 30
)
