package simulate

import (
	"slices"
)

// waiting are the pods that need a place in every simulation: pending ones and those of deleting nodes.
type waiting struct {
	Waiting []*Moving
	pinned  bool // some of them have a pin
	// homes are the places of those that have one, once they were looked for.
	homes  map[*Moving]*ExistingNode
	housed bool
}

// queue merges the pods of nodes taken away with those that wait, in placing order.
func (w *waiting) queue(gone []*ExistingNode) []*Moving {
	n := len(w.Waiting)
	for _, node := range gone {
		n += len(node.Movable)
	}
	out := make([]*Moving, 0, n)
	out = append(out, w.Waiting...)
	for _, node := range gone {
		out = append(out, node.Movable...)
	}
	if len(gone) != 1 || len(w.Waiting) > 0 {
		slices.SortFunc(out, PlacedFirst)
	}
	return out
}

// Pods without a node that have room on the nodes as they are keep it (N23): Flotilla launches nodes only in
// place of others, so that nobody makes another one for them.

// housing finds them, and where they go while nothing is disrupted.
func (x *Index) housing() map[*Moving]*ExistingNode {
	s := x.State
	if x.housed || s.Cluster.Placing || len(s.Cluster.Pending) == 0 || s.Rules.Off.PendingPods && !s.Unsettled {
		return x.homes
	}
	x.housed = true
	homes := map[*Moving]*ExistingNode{}
	for _, m := range x.without(nil, nil).Moves {
		if m.Pod.From == nil {
			homes[m.Pod] = m.Node
		}
	}
	x.homes = homes
	return homes
}

// without places those that wait on the nodes that there are, but for some.
func (x *Index) without(nodes []*ExistingNode, homes map[*Moving]*ExistingNode) *Outcome {
	for _, n := range nodes {
		x.lift(n)
	}
	x.Spend(aPod * len(x.Waiting))
	r := &Run{X: x, closed: true, homes: homes, Out: &Outcome{}}
	r.all(x.queue(nil))
	x.undo()
	return r.Out
}

// Needed are those of some nodes without pods that must stay for pods which wait, each with such a pod. Of
// several that would do one stays, the last of them.
func (x *Index) Needed(nodes []*ExistingNode) map[*ExistingNode]*Moving {
	homes := x.housing()
	x.Spend(aLook * len(homes) * len(nodes))
	out := map[*ExistingNode]*Moving{}
	for m, n := range homes {
		if slices.Contains(nodes, n) && (out[n] == nil || PlacedFirst(m, out[n]) < 0) {
			out[n] = m
		}
	}
	if len(out) == 0 || x.State.Rules.Off.PendingPods {
		return nil
	}
	if fewer, all := x.putBack(nodes, homes); all {
		out = fewer
	} // else: where they go while nothing is disrupted is a place for each of them
	for _, n := range nodes[:min(len(nodes), mostSpared)] {
		if x.Stopped() {
			break
		}
		x.Spend(aCount * len(nodes))
		fewer := slices.DeleteFunc(slices.Clone(nodes), func(o *ExistingNode) bool { return o != n && out[o] != nil })
		if out[n] != nil && len(x.without(fewer, homes).Homeless) == 0 {
			delete(out, n)
		}
	}
	return out
}

// mostSpared is of how many nodes it is tried whether they are needed beside the others that are.
const mostSpared = 100

// putBack takes nodes away and puts one back for each pod that finds no place then; false when that does not
// find a place for all.
func (x *Index) putBack(nodes []*ExistingNode, homes map[*Moving]*ExistingNode) (map[*ExistingNode]*Moving, bool) {
	for _, n := range nodes {
		x.lift(n)
	}
	defer x.undo()
	back := map[*ExistingNode]*Moving{}
	r := &Run{X: x, closed: true, homes: homes, Out: &Outcome{}}
	queue := x.queue(nil)
	if x.pinned {
		queue = slices.DeleteFunc(queue, r.SettlePinned)
	}
	for {
		if queue, _ = r.work(queue); x.Stopped() {
			return nil, false
		}
		x.Spend(aCount * len(queue))
		at := slices.IndexFunc(queue, func(m *Moving) bool { return homes[m] != nil })
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
func (r *Run) returned(nodes []*ExistingNode, m *Moving) *ExistingNode {
	r.X.Spend(aLook * len(nodes))
	for _, n := range slices.Backward(nodes) {
		if !n.gone || !m.Requests.FitsIn(n.Free) {
			continue
		}
		r.X.unlift(n)
		for v := m.Links.Variant; v != nil; v = v.Softer {
			if r.Takes(n, m, v) {
				r.nowhere = nil // there is room again
				r.Settle(m, n)
				return n
			}
		}
		r.X.lift(n)
	}
	return nil
}
