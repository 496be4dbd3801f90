// Package scheduling knows what a pod asks of its node beside room: where its volumes can be reached, which pods it goes
// with and which keep it away, and what it would rather have.
package scheduling

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"flotilla/agent/target/memory/podspec"
)

// Node is what a pod sees of one.
type Node struct {
	Name   string
	Labels map[string]string
	Taints []corev1.Taint
}

// Pod is one with a node, or one that looks for it.
type Pod struct {
	Namespace, Name string
	Template        *podspec.Template
	On              *Node // nil while it has none
	Ending          bool
}

// Member is where pods are while others look for a node.
type Member struct {
	nodes   []*Node
	pods    []*Pod
	keepers []*Pod                       // those that keep others away
	spaces  map[string]map[string]string // labels of namespaces
	volumes *Volumes
}

// NewMember has nodes, namespaces with their labels, and volumes; pods are placed.
func NewMember(nodes []*Node, spaces map[string]map[string]string, volumes *Volumes) *Member {
	return &Member{nodes: nodes, spaces: spaces, volumes: volumes}
}

// Place takes notice of a pod that has a node.
func (m *Member) Place(p *Pod) {
	m.pods = append(m.pods, p)
	if p.Template.Keeps {
		m.keepers = append(m.keepers, p)
	}
}

// Demand is what a pod must have of a node, and would rather have.
type Demand struct {
	pod    *Pod
	rules  []rule
	wishes []wish
	reach  [][]corev1.NodeSelectorTerm
}

// Demand is that of a pod with the others where they are now, false when one of its volume claims is not there.
func (m *Member) Demand(p *Pod) (*Demand, bool) {
	reach, there := m.volumes.of(p)
	if !there {
		return nil, false
	}
	return &Demand{pod: p, rules: m.rules(p), wishes: m.wishes(p), reach: reach}, true
}

// Obstacle is the first thing about a node that the pod does not get along with, empty when it does.
func (d *Demand) Obstacle(n *Node) string {
	unreachable := func(terms []corev1.NodeSelectorTerm) bool { return !podspec.Admits(terms, n.Name, n.Labels) }
	switch {
	case !podspec.Selects(&d.pod.Template.Pod.Spec, n.Name, n.Labels) || slices.ContainsFunc(d.reach, unreachable):
		return "node selector or affinity not matched"
	case slices.ContainsFunc(d.rules, func(r rule) bool { return !r(n) }):
		return "pod affinity or topology spread not satisfied"
	}
	return ""
}
