package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"flotilla/core/cluster"
)

// TryInOrder makes the nodes of a list, in its order, those that pods are tried on.
func (x *Index) TryInOrder(names []string) {
	x.Order, x.blocks = x.Order[:0], nil
	for _, name := range names {
		if n := x.ByName[name]; n != nil {
			x.Order = append(x.Order, n)
		}
	}
	x.boundBlocks()
}

// NoClaim is why a pod fits nowhere one of whose volumes is not there.
const NoClaim = "a volume claim that does not exist"

// Obstacles tells how many nodes refuse a pod for which reason, the most frequent first.
func (r *Run) Obstacles(nodes []*ExistingNode, m *Moving, v *Variant) string {
	counts := map[string]int{}
	for _, n := range nodes {
		r.X.Spend(2*tryCost(n, m, v) + aCount)
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
func (r *Run) obstacle(n *ExistingNode, m *Moving, v *Variant) string {
	switch {
	case m.Requests.Base[cluster.CPUIndex] > n.Free[cluster.CPUIndex]:
		return "insufficient cpu"
	case m.Requests.Base[cluster.MemoryIndex] > n.Free[cluster.MemoryIndex]:
		return "insufficient memory"
	case m.Requests.Base[cluster.PodsIndex] > n.Free[cluster.PodsIndex]:
		return "too many pods"
	case !m.Requests.FitsIn(n.Free):
		return "insufficient " + r.X.lacking(n, m)
	case cluster.Repelled(v.tolerations, n.taints) != nil:
		return "untolerated taint " + cluster.Repelled(v.tolerations, n.taints).Key
	case n.ports.clash(m.State.Ports):
		return "host ports taken"
	case !n.reaches(m.State.Volumes):
		return "no more volumes attachable"
	case !v.needs.Admits(n.Labels, n.Hostname):
		return "node selector or affinity not matched"
	default:
		return "pod affinity or topology spread not satisfied"
	}
}

// lacking names the resources, of those that not every pod asks for, that a node has too little of for a pod.
func (x *Index) lacking(n *ExistingNode, m *Moving) string {
	all := x.resourceNames()
	var names []string
	for _, e := range m.Requests.More {
		if e.Amount > n.Free[e.Index] {
			names = append(names, all[e.Index])
		}
	}
	slices.Sort(names)
	return strings.Join(names, " and ")
}
