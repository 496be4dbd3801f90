package told

import (
	"encoding/binary"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
)

// An Interner remembers so many values, and bytes of their keys, before it begins to forget those that nobody mentions any
// more. What is longer than worthKeeping, in bytes, is a value of one node or pod: it is not remembered.
const (
	generation   = 1 << 16
	mostKept     = 8 << 20
	worthKeeping = 1 << 10
)

// Interner keeps equal values once: the labels, requests and tolerations of the pods of one workload, of
// which a fleet has millions, are few. It may be used from any goroutine.
type Interner struct {
	mu          sync.Mutex
	texts       shelf[string]
	labels      shelf[map[string]string]
	amounts     shelf[api.Amounts]
	tolerations shelf[[]corev1.Toleration]
}

// shelf holds the values of the present generation and of the one before it, by a text that says all.
type shelf[T any] struct {
	now, before map[string]T
	bytes       int // of the keys of the present one
}

// keep returns the value that was kept under a key first.
func (s *shelf[T]) keep(key string, value T) T {
	if len(key) > worthKeeping {
		return value
	}
	if held, ok := s.now[key]; ok {
		return held
	}
	if held, ok := s.before[key]; ok {
		value = held
	}
	if s.now == nil || len(s.now) >= generation || s.bytes+len(key) > mostKept {
		s.before, s.now, s.bytes = s.now, make(map[string]T), 0
	}
	s.now[key] = value
	s.bytes += len(key)
	return value
}

// node lets a state share what it has in common with others.
func (in *Interner) node(n *api.NodeState) {
	in.mu.Lock()
	defer in.mu.Unlock()
	n.Labels, n.Annotations = in.texted(n.Labels), in.texted(n.Annotations)
	n.Capacity, n.Allocatable = in.counted(n.Capacity), in.counted(n.Allocatable)
	n.Pods = append(make([]api.PodState, 0, len(n.Pods)), n.Pods...) // decoding leaves room for more
	for i := range n.Pods {
		in.pod(&n.Pods[i])
	}
}

func (in *Interner) pod(p *api.PodState) {
	for _, text := range []*string{&p.Namespace, &p.Owner, &p.OwnerName, &p.Phase} {
		*text = in.text(*text)
	}
	p.Labels, p.Annotations, p.NodeSelector = in.texted(p.Labels), in.texted(p.Annotations), in.texted(p.NodeSelector)
	p.Requests = in.counted(p.Requests)
	if len(p.Tolerations) > 0 {
		p.Tolerations = in.tolerations.keep(toleranceKey(p.Tolerations), p.Tolerations)
	}
}

func (in *Interner) text(s string) string { return in.texts.keep(s, s) }

func (in *Interner) texted(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	var b key
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b = b.with(k).with(m[k])
	}
	return in.labels.keep(string(b), m)
}

func (in *Interner) counted(a api.Amounts) api.Amounts {
	if len(a) == 0 {
		return nil
	}
	var b key
	for _, k := range slices.Sorted(maps.Keys(a)) {
		b = binary.AppendVarint(b.with(k), a[k])
	}
	return in.amounts.keep(string(b), a)
}

func toleranceKey(list []corev1.Toleration) string {
	var b key
	for i := range list {
		t := &list[i]
		b = b.with(t.Key).with(string(t.Operator)).with(t.Value).with(string(t.Effect))
		if t.TolerationSeconds == nil {
			b = append(b, 0)
		} else {
			b = binary.AppendVarint(append(b, 1), *t.TolerationSeconds)
		}
	}
	return string(b)
}

// key says all of a value. The length of each text is before it: what one agent tells must not be taken for what another does, whatever
// characters are in it.
type key []byte

func (k key) with(text string) key {
	return append(binary.AppendUvarint(k, uint64(len(text))), text...)
}
