package disruption

import (
	"cmp"
	"fmt"
	"slices"

	"flotilla/core/api"
)

// journal is what a simulation changed, to be undone.
type journal struct {
	lifted []*inode
	placed []placed
	taken  []taken
}

type placed struct {
	pod  *moving
	node *inode
	// ports and volumes that it added there.
	ports   int
	volumes []api.PodVolume
}

type taken struct {
	group  *group
	domain string
	n      int
	known  bool
}

// outcome is where every pod went when some nodes were taken away.
type outcome struct {
	moves  []move
	claims []*claim
	// failed are the pods that found no place and were not pending before, and why.
	failed []failure
	// homeless are those without a node that have a place while nothing goes, and found none.
	homeless []failure
}

type move struct {
	pod   *moving
	node  *inode // nil when it goes to a new node
	claim *claim
}

type failure struct {
	pod string
	why string
}

func (f failure) String() string { return f.pod + " => " + f.why }

func (x *Index) take(g *group, domain string, n int) {
	g.take(domain, n)
	x.journal.taken = append(x.journal.taken, taken{group: g, domain: domain, n: n})
}

// lift takes a node away with the pods that can move.
func (x *Index) lift(n *inode) {
	n.gone = true
	x.journal.lifted = append(x.journal.lifted, n)
	for _, g := range x.groups {
		if g.known == nil {
			continue
		}
		if d, ok := n.domain(g.key); ok && g.filter.node(n) {
			g.known[d]--
			x.journal.taken = append(x.journal.taken, taken{group: g, domain: d, n: -1, known: true})
		}
	}
	for _, m := range n.movable {
		x.countMoving(m, n, -1)
	}
}

// countMoving adds a pod of a node, sign times, to the groups that count it there.
func (x *Index) countMoving(m *moving, n *inode, sign int) {
	if !m.active {
		return
	}
	for _, g := range m.links.counted {
		if d, ok := n.domain(g.key); ok && g.filter.node(n) {
			x.take(g, d, sign)
		}
	}
	for _, g := range m.links.keeps {
		if d, ok := n.domain(g.key); ok {
			x.take(g, d, sign)
		}
	}
}

// unlift puts a node back that was lifted.
func (x *Index) unlift(n *inode) {
	n.gone = false
	for _, g := range x.groups {
		if g.known == nil {
			continue
		}
		if d, ok := n.domain(g.key); ok && g.filter.node(n) {
			g.known[d]++
			x.journal.taken = append(x.journal.taken, taken{group: g, domain: d, n: 1, known: true})
		}
	}
	for _, m := range n.movable {
		x.countMoving(m, n, 1)
	}
}

// undo returns the index to what it was before the simulation.
func (x *Index) undo() {
	for i := len(x.journal.taken) - 1; i >= 0; i-- {
		t := &x.journal.taken[i]
		if t.known {
			t.group.known[t.domain] -= t.n
		} else {
			t.group.take(t.domain, -t.n)
		}
	}
	for i := len(x.journal.placed) - 1; i >= 0; i-- {
		p := &x.journal.placed[i]
		p.pod.req.addTo(p.node.free, 1)
		p.node.ports = p.node.ports[:len(p.node.ports)-p.ports]
		for j := range p.volumes {
			v := &p.volumes[j]
			delete(p.node.volumes[v.Driver], cmp.Or(v.ID, v.Name))
		}
		p.node.taken--
	}
	for _, n := range x.journal.lifted {
		n.gone = false
	}
	x.journal = journal{lifted: x.journal.lifted[:0], placed: x.journal.placed[:0], taken: x.journal.taken[:0]}
}

// simulate takes nodes away and places their pods, with those that wait for a place already. With
// quiet, pods of the nodes taken away do not go to nodes still within consolidateAfter.
func (x *Index) simulate(gone []*inode, quiet bool) *outcome {
	out := x.place(gone, quiet, false)
	if len(out.homeless) == 0 {
		return out
	}
	// Those that wait come first, if that suits everybody (N23).
	if other := x.place(gone, quiet, true); len(other.homeless)+len(other.failed) == 0 {
		return other
	}
	return out
}

// place is one attempt to simulate, with the pods that wait and have a place before all others, or not.
func (x *Index) place(gone []*inode, quiet, waitingFirst bool) *outcome {
	homes := x.housing()
	for _, n := range gone {
		x.lift(n)
	}
	r := &run{x: x, quiet: quiet, homes: homes, limits: x.remainingLimits(gone), out: &outcome{}}
	queue := x.queue(gone)
	if waitingFirst {
		slices.SortStableFunc(queue, func(a, b *moving) int { return compareBool(homes[b] != nil, homes[a] != nil) })
	}
	r.all(queue)
	x.undo()
	return r.out
}

// queue merges the pods of nodes taken away with those that wait, in placing order.
func (x *Index) queue(gone []*inode) []*moving {
	n := len(x.waiting)
	for _, node := range gone {
		n += len(node.movable)
	}
	out := make([]*moving, 0, n)
	out = append(out, x.waiting...)
	for _, node := range gone {
		out = append(out, node.movable...)
	}
	if len(gone) != 1 || len(x.waiting) > 0 {
		slices.SortFunc(out, placedFirst)
	}
	return out
}

// run is one simulation.
type run struct {
	x     *Index
	quiet bool
	// closed runs open no new nodes.
	closed bool
	homes  map[*moving]*inode
	limits map[*Pool][]int64
	// closings say why pools can make no node, until a new one takes of their limits.
	closings map[*Pool]string
	out      *outcome
}

// all places pods in order, and says which found no place.
func (r *run) all(queue []*moving) {
	if r.x.pinned {
		queue = slices.DeleteFunc(queue, r.settlePinned)
	}
	_, why := r.work(queue)
	for m, reason := range why {
		switch {
		case m.from != nil:
			r.out.failed = append(r.out.failed, failure{m.key, reason})
		case r.homes[m] != nil:
			r.out.homeless = append(r.out.homeless, failure{m.key, reason})
		}
	}
	r.refuseUninitialized()
	byPod := func(a, b failure) int { return cmp.Compare(a.pod, b.pod) }
	slices.SortFunc(r.out.failed, byPod)
	slices.SortFunc(r.out.homeless, byPod)
}

// work places pods in order. One that fails is tried again after the others, as long as any success came
// between. It returns those that are left, and why.
func (r *run) work(queue []*moving) ([]*moving, map[*moving]string) {
	why := make(map[*moving]string)
	last := make(map[*moving]int)
	for len(queue) > 0 {
		m := queue[0]
		if n, again := last[m]; again && n == len(queue) {
			break
		}
		queue = queue[1:]
		if reason := r.place(m); reason != "" {
			why[m] = reason
			queue = append(queue, m)
			last[m] = len(queue)
			continue
		}
		delete(why, m)
	}
	return queue, why
}

// refuseUninitialized counts pods on nodes that are not up yet as not placed, unless they come from
// nodes that are deleting already.
func (r *run) refuseUninitialized() {
	for _, m := range r.out.moves {
		if m.node == nil || m.node.state.Initialized || !m.node.state.Managed {
			continue
		}
		if m.pod.from != nil && !m.pod.from.deleting {
			r.out.failed = append(r.out.failed, failure{m.pod.key, fmt.Sprintf("would schedule against uninitialized node %s", m.node.state.Name)})
		}
	}
}

// place finds a place for a pod, dropping its soft constraints one by one; "" when it has one.
func (r *run) place(m *moving) string {
	reason := ""
	for v := m.links.variant; v != nil; v = v.softer {
		if n := r.firstFit(m, v); n != nil {
			r.settle(m, n)
			return ""
		}
		if r.closed {
			reason = "no node has room"
			continue
		}
		c, why := r.newNode(m, v)
		if c != nil {
			r.out.moves = append(r.out.moves, move{pod: m, claim: c})
			return ""
		}
		reason = why
	}
	return reason
}

// settlePinned puts a pod where it was promised a place, if it still fits there.
func (r *run) settlePinned(m *moving) bool {
	if m.pin == nil || m.pin.gone || !m.req.fitsIn(m.pin.free) {
		return false
	}
	for v := m.links.variant; v != nil; v = v.softer {
		if takes(m.pin, m, v, r.quiet) {
			r.settle(m, m.pin)
			return true
		}
	}
	return false
}

// firstFit returns the first node in order that takes a pod.
func (r *run) firstFit(m *moving, v *variant) *inode {
	for i := range r.x.blocks {
		b := &r.x.blocks[i]
		if !m.req.fitsIn(b.most) {
			continue
		}
		for _, n := range r.x.order[b.from:b.to] {
			if !n.gone && m.req.fitsIn(n.free) && takes(n, m, v, r.quiet) {
				return n
			}
		}
	}
	return nil
}

// takes reports whether a node with enough room takes a pod.
func takes(n *inode, m *moving, v *variant, quiet bool) bool {
	if quiet && n.settling && m.from != nil && !m.from.deleting {
		return false
	}
	if len(n.taints) > 0 && repelled(v.tolerations, n.taints) != nil {
		return false
	}
	if len(m.state.Ports) > 0 && portsClash(n.ports, m.state.Ports) || len(m.state.Volumes) > 0 && !n.reaches(m.state.Volumes) {
		return false
	}
	return v.needs.admits(n.labels, n.hostname) && groupsTake(n, m, v)
}

// groupsTake reports whether topology lets a pod onto a node.
func groupsTake(n *inode, m *moving, v *variant) bool {
	for _, g := range v.own {
		if d, ok := n.domain(g.key); !ok || !g.admits(m.pod, d, v.strict.get(g.key)) {
			return false
		}
	}
	for _, g := range m.links.avoids {
		if d, ok := n.domain(g.key); !ok || !g.admits(m.pod, d, nil) {
			return false
		}
	}
	return true
}

// settle puts a pod on a node.
func (r *run) settle(m *moving, n *inode) {
	m.req.addTo(n.free, -1)
	n.taken++
	p := placed{pod: m, node: n, ports: len(m.state.Ports)}
	n.ports = append(n.ports, m.state.Ports...)
	for i := range m.state.Volumes {
		if v := &m.state.Volumes[i]; n.attach(v) {
			p.volumes = append(p.volumes, *v)
		}
	}
	r.x.journal.placed = append(r.x.journal.placed, p)
	r.out.moves = append(r.out.moves, move{pod: m, node: n})
	for _, g := range m.links.counted {
		if d, ok := n.domain(g.key); ok && g.filter.node(n) {
			r.x.take(g, d, 1)
		}
	}
	for _, g := range m.links.keeps {
		if d, ok := n.domain(g.key); ok {
			r.x.take(g, d, 1)
		}
	}
}

// portsClash reports whether a pod's host ports are taken.
func portsClash(used, wanted []api.HostPort) bool {
	anyIP := func(ip string) bool { return ip == "" || ip == "0.0.0.0" || ip == "::" }
	return slices.ContainsFunc(wanted, func(w api.HostPort) bool {
		return slices.ContainsFunc(used, func(u api.HostPort) bool {
			return w.Port == u.Port && cmp.Or(w.Protocol, "TCP") == cmp.Or(u.Protocol, "TCP") && (anyIP(w.IP) || anyIP(u.IP) || w.IP == u.IP)
		})
	})
}

// reaches reports whether the drivers of a node can attach a pod's volumes beside those they have.
func (n *inode) reaches(volumes []api.PodVolume) bool {
	fresh := map[string]map[string]bool{}
	for i := range volumes {
		v := &volumes[i]
		if v.Missing {
			return false
		}
		id := cmp.Or(v.ID, v.Name)
		if _, limited := n.state.AttachLimits[v.Driver]; !limited || n.volumes[v.Driver][id] {
			continue
		}
		if fresh[v.Driver] == nil {
			fresh[v.Driver] = map[string]bool{}
		}
		fresh[v.Driver][id] = true
		if len(n.volumes[v.Driver])+len(fresh[v.Driver]) > n.state.AttachLimits[v.Driver] {
			return false
		}
	}
	return true
}
