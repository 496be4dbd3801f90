package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

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
