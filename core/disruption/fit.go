package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
)

// FitInput is a member with pods that look for room.
type FitInput struct {
	// Cluster holds the nodes as they are. Its pending pods, daemons and budgets do not count.
	Cluster *Cluster
	// Order names the nodes that may take pods, the first to be tried first; unknown names are skipped.
	Order []string
	// Pods are tried one after another; one that is placed counts for those after it.
	Pods []api.PodState
}

// Fitted is where one pod goes: a node, or why none takes it.
type Fitted struct {
	Node string
	Why  string
}

// Fit places pods as a member's scheduler does that puts each on the first node which satisfies all
// that simulations honour (section 7.1), soft constraints as long as they can be. Other than a
// simulation it takes every taint of a node at its word, moves no other pod and makes no new node. The
// member in memory calls it, so that what a simulation foresees is what happens there. The result has
// one entry for each pod.
func Fit(in FitInput) []Fitted {
	c := *in.Cluster
	c.pending, c.daemons, c.budgets, c.placing = nil, nil, nil, true
	for i := range in.Pods {
		c.pending = append(c.pending, c.newPod(&in.Pods[i]))
	}
	x := NewIndex(&State{Cluster: &c})
	x.tryInOrder(in.Order)
	byPod := make(map[*pod]*moving, len(x.waiting))
	for _, m := range x.waiting {
		byPod[m.pod] = m
	}
	r := &run{x: x, out: &outcome{}}
	out := make([]Fitted, len(in.Pods))
	for i, p := range c.pending {
		out[i] = r.fitOne(byPod[p])
	}
	return out
}

// tryInOrder makes the nodes of a list, in its order, those that pods are tried on.
func (x *Index) tryInOrder(names []string) {
	x.order, x.blocks = x.order[:0], nil
	for _, name := range names {
		if n := x.byName[name]; n != nil {
			x.order = append(x.order, n)
		}
	}
	x.boundBlocks()
}

// noClaim is why a pod fits nowhere one of whose volumes is not there.
const noClaim = "a volume claim that does not exist"

func (r *run) fitOne(m *moving) Fitted {
	if m == nil {
		return Fitted{Why: noClaim}
	}
	var last *variant
	for v := m.links.variant; v != nil; v = v.softer {
		if n := r.firstFit(m, v); n != nil {
			r.settle(m, n)
			return Fitted{Node: n.state.Name}
		}
		last = v
	}
	return Fitted{Why: r.obstacles(r.x.order, m, last)}
}

// obstacles tells how many nodes refuse a pod for which reason, the most frequent first.
func (r *run) obstacles(nodes []*inode, m *moving, v *variant) string {
	counts := map[string]int{}
	for _, n := range nodes {
		counts[r.obstacle(n, m, v)]++
	}
	reasons := make([]string, 0, len(counts))
	for reason := range counts {
		reasons = append(reasons, reason)
	}
	slices.SortFunc(reasons, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	for i, reason := range reasons {
		reasons[i] = fmt.Sprintf("%d %s", counts[reason], reason)
	}
	return strings.Join(reasons, ", ")
}

// obstacle is the first thing about a node that a pod does not get along with.
func (r *run) obstacle(n *inode, m *moving, v *variant) string {
	switch {
	case m.req.base[cpuIndex] > n.free[cpuIndex]:
		return "insufficient cpu"
	case m.req.base[memoryIndex] > n.free[memoryIndex]:
		return "insufficient memory"
	case m.req.base[podsIndex] > n.free[podsIndex]:
		return "too many pods"
	case !m.req.fitsIn(n.free):
		return "insufficient " + r.x.lacking(n, m)
	case repelled(v.tolerations, n.taints) != nil:
		return "untolerated taint " + repelled(v.tolerations, n.taints).Key
	case portsClash(n.ports, m.state.Ports):
		return "host ports taken"
	case !n.reaches(m.state.Volumes):
		return "no more volumes attachable"
	case !v.needs.admits(n.labels, n.hostname):
		return "node selector or affinity not matched"
	default:
		return "pod affinity or topology spread not satisfied"
	}
}

// lacking names the resources, of those that not every pod asks for, that a node has too little of for a pod.
func (x *Index) lacking(n *inode, m *moving) string {
	all := x.resourceNames()
	var names []string
	for _, e := range m.req.more {
		if e.amount > n.free[e.index] {
			names = append(names, all[e.index])
		}
	}
	slices.Sort(names)
	return strings.Join(names, " and ")
}

// DaemonNodes reports for each node whether a DaemonSet puts its pod there: selector and affinity match,
// and it tolerates the taints that keep pods off. Room does not matter.
func DaemonNodes(daemon *api.PodState, nodes []*api.NodeState) []bool {
	c := NewCluster()
	x := &Index{state: &State{Cluster: c}}
	p := c.newPod(daemon)
	out := make([]bool, len(nodes))
	for i, s := range nodes {
		host, labelled := cmp.Or(s.Labels[corev1.LabelHostname], s.Name), canonicalLabels(s.Labels)
		out[i] = Untolerated(daemon.Tolerations, s.Taints) == nil && x.daemonFits(p, func(t needs) bool { return t.admits(labelled, host) })
	}
	return out
}

// Untolerated returns the first taint that keeps a pod with these tolerations off a node, nil when none
// does. PreferNoSchedule keeps none off.
func Untolerated(tolerations []corev1.Toleration, taints []corev1.Taint) *corev1.Taint {
	for i := range taints {
		if t := &taints[i]; !prefersNone(*t) && !tolerated(tolerations, t) {
			return t
		}
	}
	return nil
}
