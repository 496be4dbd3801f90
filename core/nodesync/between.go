package nodesync

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/cluster"
	"flotilla/core/simulate"
)

// SuccessorTime is how long a pod is waited for that takes the place of one whose node goes.
const SuccessorTime = simulate.NominationHold

// between is what is known of pods that left nodes which go, and whose successors are not seen yet: their controllers
// have not made them, or the scheduler has not looked at them. They are told as pods without a node, or the hub would
// give their room away. What an earlier process of the agent knew is read back from what it told.
type between struct {
	// standing are how many pods each controller had at the last look.
	standing map[controller]int
	waiting  map[controller]*owed
}

// controller is what makes pods again.
type controller struct{ space, kind, name string }

// owed are the pods of one controller that left, the oldest first, and how many pods there are when all are back.
type owed struct {
	left []departed
	most int
}

type departed struct {
	pod api.PodState
	at  time.Time
}

// look takes notice of a look at the member, before which nodes were these, and adds the pods that are between two nodes
// to those of the inventory. It reports whether a pod left.
func (b *between) look(before map[string]*node, seen *cluster.Observed, now time.Time) bool {
	standing := map[controller]int{}
	nodes := map[string]*api.NodeState{}
	for i := range seen.Nodes {
		nodes[seen.Nodes[i].Name] = &seen.Nodes[i]
		count(standing, seen.Nodes[i].Pods)
	}
	count(standing, seen.Inventory.Pending)
	left := false
	for name, t := range before {
		if t.gone {
			continue
		}
		for _, p := range gone(t.state.Pods, nodes[name]) {
			b.depart(&p, now)
			left = true
		}
	}
	b.standing = standing
	b.tell(&seen.Inventory, now)
	return left
}

func count(into map[controller]int, pods []api.PodState) {
	for i := range pods {
		if p := &pods[i]; cluster.Movable(p) {
			into[controllerOf(p)]++
		}
	}
}

func controllerOf(p *api.PodState) controller { return controller{p.Namespace, p.Owner, p.OwnerName} }

// gone are those of the pods that needed a place on a node which goes, or has gone, and are there no more. One that has
// done its work has no successor.
func gone(before []api.PodState, now *api.NodeState) []api.PodState {
	if now != nil && !Going(now) {
		return nil
	}
	still := map[string]bool{}
	if now != nil {
		still = movable(now.Pods)
		for i := range now.Pods {
			if p := &now.Pods[i]; !p.Terminating {
				still[podKey(p)] = true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(before), func(p api.PodState) bool {
		return p.Owner == "" || !cluster.Movable(&p) || still[podKey(&p)]
	})
}

// Going says that a node is being disrupted, or deleted.
func Going(n *api.NodeState) bool {
	return n.Deleting || slices.ContainsFunc(n.Taints, func(t corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule && (t.Key == api.TaintDisrupted || t.Key == api.TaintDisruptedBeside)
	})
}

// resume takes up what an earlier process told last, nodes and the pods without one, and what left since: nodes are as the
// look just made shows them, and waiting the pods without one. It reports whether a pod is between two nodes.
func (b *between) resume(told []api.NodeState, nodes map[string]*node, pending, waiting []api.PodState, now time.Time) bool {
	seen, before := b.standing, map[controller]int{}
	count(before, pending)
	here := there(nodes, waiting)
	var left []api.PodState
	for i := range told {
		count(before, told[i].Pods)
		var is *api.NodeState
		if n := nodes[told[i].Name]; n != nil && !n.gone {
			is = &n.state
		}
		left = append(left, gone(told[i].Pods, is)...)
	}
	for i := range pending {
		if p := &pending[i]; p.Owner != "" && cluster.Movable(p) && !here[podKey(p)] {
			left = append(left, *p)
		}
	}
	slices.SortFunc(left, comparePods)
	b.standing = before
	for i := range left {
		b.depart(&left[i], now)
	}
	b.standing = seen
	return len(left) > 0
}

// there are the pods of nodes, and those without one, by their keys.
func there(nodes map[string]*node, waiting []api.PodState) map[string]bool {
	keys := movable(waiting)
	for _, t := range nodes {
		for i := range t.state.Pods {
			keys[podKey(&t.state.Pods[i])] = true
		}
	}
	return keys
}

func (b *between) depart(p *api.PodState, now time.Time) {
	if b.waiting == nil {
		b.waiting = map[controller]*owed{}
	}
	by := controllerOf(p)
	if b.waiting[by] == nil {
		b.waiting[by] = &owed{most: b.standing[by]}
	}
	one := *p
	one.Phase, one.Terminating, one.GoneBy.Time, one.Started.Time = string(corev1.PodPending), false, time.Time{}, time.Time{}
	b.waiting[by].left = append(b.waiting[by].left, departed{one, now})
}

// tell adds the pods whose successors are missing to those that wait for a node.
func (b *between) tell(inv *api.NodeInventory, now time.Time) {
	told := len(inv.Pending)
	for by, w := range b.waiting {
		w.back(b.standing[by], now)
		for i := range w.left {
			inv.Pending = append(inv.Pending, w.left[i].pod)
		}
		if len(w.left) == 0 {
			delete(b.waiting, by)
		}
	}
	if len(inv.Pending) > told {
		slices.SortFunc(inv.Pending, comparePods)
	}
}

// back forgets the pods that left first for those that are back, and those that were waited for long enough.
func (w *owed) back(standing int, now time.Time) {
	late := slices.IndexFunc(w.left, func(d departed) bool { return now.Sub(d.at) < SuccessorTime })
	if late < 0 {
		late = len(w.left)
	}
	w.left, w.most = w.left[late:], w.most-late
	w.most = min(w.most, standing+len(w.left))
	w.left = w.left[len(w.left)-max(0, w.most-standing):]
}
