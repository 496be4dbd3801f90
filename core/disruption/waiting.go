package disruption

import (
	"fmt"
	"slices"
	"strings"
)

// Pods without a node that have room on the nodes as they are keep it (N23): Flotilla launches nodes only in
// place of others, so that nobody makes another one for them.

// housing finds them, and where they go while nothing is disrupted.
func (x *Index) housing() map[*moving]*inode {
	s := x.state
	if x.housed || s.Cluster.placing || len(s.Cluster.pending) == 0 || s.Rules.Off.PendingPods && !s.Unsettled {
		return x.homes
	}
	x.housed = true
	homes := map[*moving]*inode{}
	for _, m := range x.without(nil, nil).moves {
		if m.pod.from == nil {
			homes[m.pod] = m.node
		}
	}
	x.homes = homes
	return homes
}

// without places those that wait on the nodes that there are, but for some.
func (x *Index) without(nodes []*inode, homes map[*moving]*inode) *outcome {
	for _, n := range nodes {
		x.lift(n)
	}
	r := &run{x: x, closed: true, homes: homes, out: &outcome{}}
	r.all(x.queue(nil))
	x.undo()
	return r.out
}

// needed are those of some nodes without pods that must stay for pods which wait, each with such a pod. Of
// several that would do one stays, the last of them.
func (x *Index) needed(nodes []*inode) map[*inode]*moving {
	homes := x.housing()
	out := map[*inode]*moving{}
	for m, n := range homes {
		if slices.Contains(nodes, n) && (out[n] == nil || placedFirst(m, out[n]) < 0) {
			out[n] = m
		}
	}
	if len(out) == 0 || x.state.Rules.Off.PendingPods {
		return nil
	}
	if fewer, all := x.putBack(nodes, homes); all {
		out = fewer
	} // else: where they go while nothing is disrupted is a place for each of them
	for _, n := range nodes[:min(len(nodes), mostSpared)] {
		fewer := slices.DeleteFunc(slices.Clone(nodes), func(o *inode) bool { return o != n && out[o] != nil })
		if out[n] != nil && len(x.without(fewer, homes).homeless) == 0 {
			delete(out, n)
		}
	}
	return out
}

// mostSpared is of how many nodes it is tried whether they are needed beside the others that are.
const mostSpared = 100

// putBack takes nodes away and puts one back for each pod that finds no place then; false when that does not
// find a place for all.
func (x *Index) putBack(nodes []*inode, homes map[*moving]*inode) (map[*inode]*moving, bool) {
	for _, n := range nodes {
		x.lift(n)
	}
	defer x.undo()
	back := map[*inode]*moving{}
	r := &run{x: x, closed: true, homes: homes, out: &outcome{}}
	queue := x.queue(nil)
	if x.pinned {
		queue = slices.DeleteFunc(queue, r.settlePinned)
	}
	for {
		queue, _ = r.work(queue)
		at := slices.IndexFunc(queue, func(m *moving) bool { return homes[m] != nil })
		if at < 0 {
			return back, true
		}
		m := queue[at]
		n := r.returned(nodes, m)
		if n == nil {
			return nil, false
		}
		back[n] = m
		queue = slices.Delete(queue, at, at+1)
	}
}

// returned puts the last of some nodes back that takes a pod, and the pod on it; nil when none does.
func (r *run) returned(nodes []*inode, m *moving) *inode {
	for _, n := range slices.Backward(nodes) {
		if !n.gone || !m.req.fitsIn(n.free) {
			continue
		}
		r.x.unlift(n)
		for v := m.links.variant; v != nil; v = v.softer {
			if takes(n, m, v, false) {
				r.settle(m, n)
				return n
			}
		}
		r.x.lift(n)
	}
	return nil
}

// neededText names the pods that keep a node, or several.
func neededText(list []failure) string {
	var pods []string
	for _, f := range list[:min(len(list), 5)] {
		pods = append(pods, f.pod)
	}
	if more := len(list) - len(pods); more > 0 {
		pods = append(pods, fmt.Sprintf("%d more", more))
	}
	if len(list) == 1 {
		return "pod " + pods[0] + " waits for a node, and finds room nowhere else"
	}
	return "pods " + strings.Join(pods, ", ") + " wait for a node, and would not all find room elsewhere"
}

func neededRefusal(list []failure) Refusal {
	return Refusal{Code: CodePendingPodNeedsIt, Message: neededText(list), About: list[0].pod}
}

// sparing takes empty candidates in order while budgets last, but for those that pods which wait need.
func (d *deciding) sparing(method, reason string, cs []*candidate) []*candidate {
	for {
		left := d.allowances(reason)
		taken, over := afford(cs, left)
		nodes := make([]*inode, len(taken))
		for i, c := range taken {
			nodes[i] = c.inode
		}
		needed := d.x.needed(nodes)
		if len(needed) == 0 {
			d.overBudgets(method, reason, over, left)
			return taken
		}
		d.out.Evaluated++
		for n, m := range needed {
			d.refuse(method, n.state.Name, neededRefusal([]failure{{pod: m.key}}))
		}
		cs = slices.DeleteFunc(slices.Clone(cs), func(c *candidate) bool { return needed[c.inode] != nil })
	}
}
