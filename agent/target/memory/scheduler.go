package memory

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"flotilla/agent/target/memory/podspec"
)

// The scheduler puts each waiting pod on the first node that takes it: the largest pod first, nodes that are up before
// others, then by name. It is what simulations of disruptions foretell, and has nothing of them.

// scheduler is what the member knows of pods without a node.
type scheduler struct {
	waiting map[*pod]struct{}
	keepers int // pods that keep others away
	after   time.Duration
	due     bool // a pass is
	// order are the nodes in the order in which they are tried, nil when it must be made anew.
	order []*node
}

// passSoon lets waiting pods look for room once those that end at the same time have ended, too.
func (m *Member) passSoon() {
	if m.schedule.after <= 0 {
		m.pass()
		return
	}
	if !m.schedule.due {
		m.schedule.due = true
		m.after(m.schedule.after, func() {
			m.schedule.due = false
			m.pass()
		})
	}
}

// pass places the pods that wait, and tells what changed.
func (m *Member) pass() {
	if len(m.schedule.waiting) > 0 {
		queue := slices.SortedFunc(maps.Keys(m.schedule.waiting), looksFirst)
		queue = slices.DeleteFunc(queue, m.seatOnNode)
		if m.softTaints() || m.schedule.keepers > 0 || slices.ContainsFunc(queue, func(p *pod) bool { return !p.made.Plain }) {
			m.fit(queue)
		} else {
			m.firstFit(queue)
		}
	}
	m.tell()
}

// seatOnNode puts a pod that is for one node there when there is room; false for other pods.
func (m *Member) seatOnNode(p *pod) bool {
	if p.For == "" {
		return false
	}
	n := m.nodeNamed(p.For)
	if n == nil || n.Draining {
		m.wait(p, "insufficient nodes")
	} else if short := n.free.Short(&p.made.Needs); short != "" {
		m.wait(p, "insufficient "+short)
	} else {
		m.bind(p, n)
	}
	return true
}

// wait notes what a pod waits for on a member of so many nodes.
func (m *Member) wait(p *pod, why string) {
	if p.why != why || p.among != len(m.nodes) {
		p.why, p.among, p.look = why, len(m.nodes), nil
	}
}

// firstFit places pods that ask for room only. Pods of one template look no further back than the one
// before them.
func (m *Member) firstFit(queue []*pod) {
	order := m.inOrder()
	var last *podspec.Template
	at, why := 0, ""
	for _, p := range queue {
		if p.made != last {
			at, why, last = 0, "insufficient nodes", p.made
		}
		for ; at < len(order); at++ {
			n := order[at]
			if taint := podspec.Untolerated(p.made.Pod.Spec.Tolerations, n.taints); taint != nil {
				why = "untolerated taint " + taint.Key
				continue
			}
			if short := n.free.Short(&p.made.Needs); short != "" {
				why = "insufficient " + short
				continue
			}
			break
		}
		if at == len(order) {
			m.wait(p, why)
			continue
		}
		m.bind(p, order[at])
	}
}

// inOrder lists the nodes that may take pods, in the order in which they are tried: those that are up,
// then those launched in place of nodes that are still being disrupted, then the others.
func (m *Member) inOrder() []*node {
	if m.schedule.order != nil {
		return m.schedule.order
	}
	oldest := int64(math.MaxInt64)
	for _, n := range m.nodes {
		if n.Out {
			oldest = min(oldest, n.OutSince)
		}
	}
	m.schedule.order = []*node{}
	for _, n := range m.nodes {
		if !n.Draining {
			m.schedule.order = append(m.schedule.order, n)
		}
	}
	later := func(n *node) int {
		switch {
		case !n.initialized():
			return 2
		case n.Launched && n.Number > oldest:
			return 1
		}
		return 0
	}
	slices.SortStableFunc(m.schedule.order, func(a, b *node) int { return cmp.Compare(later(a), later(b)) })
	return m.schedule.order
}

func (m *Member) softTaints() bool {
	return slices.ContainsFunc(m.nodes, func(n *node) bool {
		return slices.ContainsFunc(n.taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectPreferNoSchedule })
	})
}
