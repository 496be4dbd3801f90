package memory

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// amounts are resources: millicores, bytes, pods, and the rest by name.
type amounts struct {
	cpu, memory, pods int64
	more              map[string]int64
}

func amountsOf(list corev1.ResourceList) amounts {
	a := amounts{}
	for name, q := range list {
		switch name {
		case corev1.ResourceCPU:
			a.cpu = q.MilliValue()
		case corev1.ResourceMemory:
			a.memory = q.Value()
		case corev1.ResourcePods:
			a.pods = q.Value()
		default:
			if a.more == nil {
				a.more = map[string]int64{}
			}
			a.more[string(name)] = q.Value()
		}
	}
	return a
}

// add adds b, sign times.
func (a *amounts) add(b *amounts, sign int64) {
	a.cpu += sign * b.cpu
	a.memory += sign * b.memory
	a.pods += sign * b.pods
	for name, n := range b.more {
		if a.more == nil {
			a.more = map[string]int64{}
		}
		a.more[name] += sign * n
	}
}

// short names the resource of which there is too little for b in what is free, empty when none.
func (a *amounts) short(b *amounts) string {
	switch {
	case b.cpu > 0 && b.cpu > a.cpu:
		return string(corev1.ResourceCPU)
	case b.memory > 0 && b.memory > a.memory:
		return string(corev1.ResourceMemory)
	case b.pods > a.pods:
		return string(corev1.ResourcePods)
	}
	for _, name := range slices.Sorted(maps.Keys(b.more)) {
		if n := b.more[name]; n > 0 && n > a.more[name] {
			return name
		}
	}
	return ""
}

// list writes amounts as Kubernetes does, pods left out.
func (a *amounts) list() corev1.ResourceList {
	out := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(a.cpu, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(a.memory, resource.BinarySI),
	}
	for name, n := range a.more {
		out[corev1.ResourceName(name)] = *resource.NewQuantity(n, resource.DecimalSI)
	}
	return out
}

// room is what a node can hold of every resource: what it was made with, and what every node has that
// is not said otherwise.
func room(given corev1.ResourceList) corev1.ResourceList {
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
