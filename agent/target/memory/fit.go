package memory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"flotilla/agent/target/memory/podspec"
)

// fit places pods that ask for more than room: each on the first of the nodes that take it and are most what it would
// rather have.
func (m *Member) fit(queue []*pod) {
	around, volumes := m.around(), m.volumes()
	for _, p := range queue {
		reach, there := volumes.of(p)
		if !there {
			m.wait(p, "a volume claim that does not exist")
			continue
		}
		n, why := m.choose(p, &demand{rules: around.rules(p), wishes: around.wishes(p), reach: reach})
		if n == nil {
			m.wait(p, cmp.Or(why, "insufficient nodes"))
			continue
		}
		m.bind(p, n)
		around.placed(p)
	}
}

// demand is what a pod must have of a node, and would rather have.
type demand struct {
	rules  []rule
	wishes []wish
	reach  [][]corev1.NodeSelectorTerm
}

// choose finds the node for a pod, or says how many nodes refuse it for which reason.
func (m *Member) choose(p *pod, d *demand) (*node, string) {
	var best *node
	most, perfect := 0, 0
	for _, w := range d.wishes {
		perfect += max(0, w.weight)
	}
	counts := map[string]int{}
	for _, n := range m.inOrder() {
		if why := d.obstacle(p, n); why != "" {
			counts[why]++
			continue
		}
		got := d.granted(p, n)
		if best == nil || got > most {
			best, most = n, got
		}
		if got == perfect {
			break
		}
	}
	if best != nil {
		return best, ""
	}
	reasons := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	for i, reason := range reasons {
		reasons[i] = fmt.Sprintf("%d %s", counts[reason], reason)
	}
	return nil, strings.Join(reasons, ", ")
}

// obstacle is the first thing about a node that a pod does not get along with, empty when it does.
func (d *demand) obstacle(p *pod, n *node) string {
	spec := &p.made.Pod.Spec
	if short := n.free.Short(&p.made.Needs); short != "" {
		return "insufficient " + short
	}
	if taint := podspec.Untolerated(spec.Tolerations, n.taints); taint != nil {
		return "untolerated taint " + taint.Key
	}
	if clashes(spec, n) {
		return "host ports taken"
	}
	if !podspec.Selects(spec, n.Name, n.Labels) || slices.ContainsFunc(d.reach, func(terms []corev1.NodeSelectorTerm) bool { return !podspec.Admits(terms, n.Name, n.Labels) }) {
		return "node selector or affinity not matched"
	}
	if slices.ContainsFunc(d.rules, func(r rule) bool { return !r(n) }) {
		return "pod affinity or topology spread not satisfied"
	}
	return ""
}

// clashes reports whether a port of the node that a pod wants is taken.
func clashes(spec *corev1.PodSpec, n *node) bool {
	wanted := podspec.HostPorts(spec)
	if len(wanted) == 0 {
		return false
	}
	for other := range n.pods {
		if podspec.Clash(wanted, podspec.HostPorts(&other.made.Pod.Spec)) {
			return true
		}
	}
	return false
}
