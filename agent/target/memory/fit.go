package memory

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"flotilla/agent/target/memory/podspec"
	"flotilla/agent/target/memory/scheduling"
)

// fit places pods that ask for more than room: each on the first of the nodes that take it and are most what it would
// rather have.
func (m *Member) fit(queue []*pod) {
	around, seen := m.around()
	for _, p := range queue {
		looking := p.seen()
		demand, there := around.Demand(looking)
		if !there {
			m.wait(p, "a volume claim that does not exist")
			continue
		}
		n, why := m.choose(p, demand, seen)
		if n == nil {
			m.wait(p, cmp.Or(why, "insufficient nodes"))
			continue
		}
		m.bind(p, n)
		looking.On = seen[n]
		around.Place(looking)
	}
}

// around is what pods that look for a node see of the member, and its nodes as they see them.
func (m *Member) around() (*scheduling.Member, map[*node]*scheduling.Node) {
	seen := map[*node]*scheduling.Node{}
	var nodes []*scheduling.Node
	for _, n := range m.nodes {
		seen[n] = &scheduling.Node{Name: n.Name, Labels: n.Labels, Taints: n.taints}
		nodes = append(nodes, seen[n])
	}
	spaces := map[string]map[string]string{}
	for id, s := range m.objects {
		if id.Group == "" && id.Kind == "Namespace" {
			spaces[id.Name] = spaceLabels(s)
		}
	}
	around := scheduling.NewMember(nodes, spaces, m.volumes())
	for _, p := range m.pods {
		if p.on != nil && !p.gone {
			placed := p.seen()
			placed.On = seen[p.on]
			around.Place(placed)
		}
	}
	return around, seen
}

func (m *Member) volumes() *scheduling.Volumes {
	return scheduling.NewVolumes(
		typed[corev1.PersistentVolumeClaim](m, "PersistentVolumeClaim"), typed[corev1.PersistentVolume](m, "PersistentVolume"),
		typed[storagev1.StorageClass](m, "StorageClass.storage.k8s.io"),
	)
}

func (p *pod) seen() *scheduling.Pod {
	return &scheduling.Pod{Namespace: p.of.Object.GetNamespace(), Name: p.Name, Template: p.made, Ending: !p.Ending.IsZero()}
}

// choose finds the node for a pod, or says how many nodes refuse it for which reason.
func (m *Member) choose(p *pod, d *scheduling.Demand, seen map[*node]*scheduling.Node) (*node, string) {
	var best *node
	most, perfect := 0, d.Perfect()
	counts := map[string]int{}
	for _, n := range m.inOrder() {
		why := p.obstacle(n)
		if why == "" {
			why = d.Obstacle(seen[n])
		}
		if why != "" {
			counts[why]++
			continue
		}
		got := d.Granted(seen[n])
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

// obstacle is what keeps a pod from a node whatever other pods are about: room, taints and ports.
func (p *pod) obstacle(n *node) string {
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
