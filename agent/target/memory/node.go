package memory

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"flotilla/agent/target"
)

type node struct {
	target.Node
	draining bool // an upgrade makes it anew
}

// fits reports which resource is short, empty when there is room.
func (n *node) fits(requests corev1.ResourceList) corev1.ResourceName {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		want, ok := requests[name]
		if !ok {
			continue
		}
		used := n.Requested[name]
		used.Add(want)
		if room := n.Allocatable[name]; used.Cmp(room) > 0 {
			return name
		}
	}
	return ""
}

func (n *node) add(requests corev1.ResourceList) {
	for name, want := range requests {
		used := n.Requested[name]
		used.Add(want)
		n.Requested[name] = used
	}
}

func (n *node) take(requests corev1.ResourceList) {
	for name, want := range requests {
		used := n.Requested[name]
		used.Sub(want)
		n.Requested[name] = used
	}
}

// pod is one replica of a workload.
type pod struct {
	requests corev1.ResourceList
	template string
	on       *node // nil while it waits for room
	only     string
	short    corev1.ResourceName // what it waits for
	ready    time.Time
}

// workload reports whether the object runs pods.
func (s *stored) workload() bool {
	switch s.object.GroupVersionKind().GroupKind().String() {
	case "Deployment.apps", "StatefulSet.apps", "ReplicaSet.apps", "DaemonSet.apps", "Pod":
		return true
	}
	return false
}

// podSpec reads what one pod of the workload requests, and a text that changes with the template.
func (s *stored) podSpec() (corev1.ResourceList, string) {
	at := []string{"spec", "template"}
	if s.object.GetKind() == "Pod" {
		at = []string{"spec"}
	}
	found, _, _ := unstructured.NestedMap(s.object.Object, at...)
	text, _ := json.Marshal(found)
	if len(at) == 2 {
		found, _, _ = unstructured.NestedMap(found, "spec")
	}
	var spec corev1.PodSpec
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found, &spec); err != nil {
		return nil, string(text)
	}
	sum := corev1.ResourceList{}
	for i := range spec.Containers {
		(&node{Node: target.Node{Requested: sum}}).add(spec.Containers[i].Resources.Requests)
	}
	return sum, string(text)
}

// schedule gives a workload the pods it wants: a changed template replaces all of them at once.
func (m *Member) schedule(s *stored) {
	requests, template := s.podSpec()
	if len(s.pods) > 0 && s.pods[0].template != template {
		m.release(s)
	}
	var names []string
	if s.object.GetKind() == "DaemonSet" {
		for _, n := range m.nodes {
			names = append(names, n.Name)
		}
	} else {
		names = make([]string, s.replicas())
	}
	s.pods = slices.DeleteFunc(s.pods, func(p *pod) bool {
		at := slices.Index(names, p.only)
		if at < 0 {
			p.leave()
			return true
		}
		names = slices.Delete(names, at, at+1)
		return false
	})
	for _, only := range names {
		s.pods = append(s.pods, &pod{requests: requests, template: template, only: only})
	}
}

func (s *stored) replicas() int64 {
	if s.object.GetKind() == "Pod" {
		return 1
	}
	n, ok, err := unstructured.NestedInt64(s.object.Object, "spec", "replicas")
	if !ok || err != nil {
		return 1
	}
	return max(n, 0)
}

// settlePods schedules a workload and finds room for its pods. It reports whether any moved in.
func (m *Member) settlePods(s *stored) bool {
	m.schedule(s)
	placed, waiting := false, false
	for _, p := range s.pods {
		if p.on == nil {
			seated := m.seat(p)
			placed, waiting = placed || seated, waiting || !seated
		}
	}
	delete(m.hungry, s)
	if waiting {
		m.hungry[s] = struct{}{}
	}
	if placed && m.readyAfter > 0 {
		m.after(m.readyAfter, func() { m.notify(target.Change{Owners: []string{s.owner()}}) })
	}
	return placed
}

// feed lets pods that wait for room look again, first come, first served.
func (m *Member) feed() {
	for _, s := range slices.SortedFunc(maps.Keys(m.hungry), byNumber) {
		if m.settlePods(s) {
			m.notify(target.Change{Owners: []string{s.owner()}})
		}
	}
}

// resettle follows a change of the nodes.
func (m *Member) resettle() {
	for _, s := range m.sorted() {
		if s.object.GetKind() == "DaemonSet" && s.workload() || slices.ContainsFunc(s.pods, func(p *pod) bool { return p.on == nil }) {
			m.settlePods(s)
			m.notify(target.Change{Owners: []string{s.owner()}})
		}
	}
	m.notify(target.Change{Nodes: true})
}

// seat puts a pod on the first node with room.
func (m *Member) seat(p *pod) bool {
	p.short = "nodes"
	for _, n := range m.nodes {
		if p.only != "" && p.only != n.Name || n.draining {
			continue
		}
		if p.short = n.fits(p.requests); p.short == "" {
			p.on, p.ready = n, m.clock.Now().Add(m.readyAfter)
			n.add(p.requests)
			return true
		}
	}
	return false
}

func (p *pod) leave() {
	if p.on != nil {
		p.on.take(p.requests)
		p.on = nil
	}
}

// release frees the room of a workload.
func (m *Member) release(s *stored) {
	delete(m.hungry, s)
	for _, p := range s.pods {
		p.leave()
	}
	s.pods = nil
}

// evict removes a node and makes its pods wait.
func (m *Member) evict(name string) bool {
	at := slices.IndexFunc(m.nodes, func(n *node) bool { return n.Name == name })
	if at < 0 {
		return false
	}
	m.drain(m.nodes[at])
	m.nodes = slices.Delete(m.nodes, at, at+1)
	return true
}

// drain makes the pods of a node wait for room.
func (m *Member) drain(n *node) {
	for _, s := range m.objects {
		for _, p := range s.pods {
			if p.on == n {
				p.leave()
			}
		}
	}
}
