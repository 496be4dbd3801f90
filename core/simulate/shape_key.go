package simulate

import (
	"encoding/binary"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/cluster"
)

// appendShape writes all that variants and groups are made from, so that no two different shapes read the same.
func appendShape(b []byte, space string, p *cluster.Pod) []byte {
	s := p.State
	b = appendText(b, space)
	b = appendLabels(b, s.NodeSelector)
	b = append(b, 0)
	if a := s.Affinity; a != nil {
		b[len(b)-1] = 1
		b = appendMessage(b, a)
		b = appendTermLabels(b, a, s.Labels)
	}
	b = binary.AppendUvarint(b, uint64(len(s.Tolerations)))
	for i := range s.Tolerations {
		b = appendMessage(b, &s.Tolerations[i])
	}
	b = binary.AppendUvarint(b, uint64(len(s.Spread)))
	for i := range s.Spread {
		b = appendMessage(b, &s.Spread[i])
		b = appendValues(b, s.Labels, s.Spread[i].MatchLabelKeys)
	}
	b = binary.AppendUvarint(b, uint64(len(s.Volumes)))
	for i := range s.Volumes {
		terms := s.Volumes[i].Terms
		b = binary.AppendUvarint(b, uint64(len(terms)))
		for j := range terms {
			b = appendMessage(b, &terms[j])
		}
	}
	return b
}

// appendTermLabels writes the pod's own values of the labels that its affinity compares with those of others.
func appendTermLabels(b []byte, a *corev1.Affinity, own map[string]string) []byte {
	add := func(t *corev1.PodAffinityTerm) {
		b = appendValues(b, own, t.MatchLabelKeys)
		b = appendValues(b, own, t.MismatchLabelKeys)
	}
	both := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) {
		for i := range required {
			add(&required[i])
		}
		for i := range preferred {
			add(&preferred[i].PodAffinityTerm)
		}
	}
	if near := a.PodAffinity; near != nil {
		both(near.RequiredDuringSchedulingIgnoredDuringExecution, near.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if apart := a.PodAntiAffinity; apart != nil {
		both(apart.RequiredDuringSchedulingIgnoredDuringExecution, apart.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return b
}

// message is a part of a pod that Kubernetes knows how to write: two that differ are never written alike.
type message interface {
	Size() int
	MarshalToSizedBuffer(b []byte) (int, error)
}

func appendMessage(b []byte, m message) []byte {
	size := m.Size()
	b = binary.AppendUvarint(b, uint64(size))
	b = slices.Grow(b, size)[:len(b)+size]
	if _, err := m.MarshalToSizedBuffer(b[len(b)-size:]); err != nil {
		panic(err) // the buffer has the size that the message asked for
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendLabels(b []byte, labels map[string]string) []byte {
	b = binary.AppendUvarint(b, uint64(len(labels)))
	if len(labels) == 0 {
		return b
	}
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		b = appendText(appendText(b, k), labels[k])
	}
	return b
}

// appendValues writes the values of some labels, told from those that are not there.
func appendValues(b []byte, labels map[string]string, keys []string) []byte {
	for _, k := range keys {
		v, ok := labels[k]
		if !ok {
			b = append(b, 0)
			continue
		}
		b = appendText(append(b, 1), v)
	}
	return b
}

// appendRead writes the labels of some keys, which are sorted; the shorter of both lists is gone through.
func appendRead(b []byte, labels map[string]string, keys []string) []byte {
	if len(keys) <= len(labels) {
		return appendValues(append(b, 0), labels, keys)
	}
	read := make([]string, 0, 16)
	for k := range labels {
		if _, found := slices.BinarySearch(keys, k); found {
			read = append(read, k)
		}
	}
	slices.Sort(read)
	b = append(b, 1)
	for _, k := range read {
		b = appendText(appendText(b, k), labels[k])
	}
	return b
}
