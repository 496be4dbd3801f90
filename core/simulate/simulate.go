package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/cluster"
)

// journal is what a simulation changed, to be undone.
type journal struct {
	lifted []*ExistingNode
	Placed []placed
	taken  []taken
}

type placed struct {
	pod  *Moving
	node *ExistingNode
	// volumes that it added there.
	volumes []api.PodVolume
}

type taken struct {
	group  *group
	domain string
	n      int
	known  bool
}

// Outcome is where every pod went when some nodes were taken away.
type Outcome struct {
	Moves  []Move
	Claims []*Claim
	// Failed are the pods that found no place and were not pending before, and why.
	Failed []Failure
	// Homeless are those without a node that have a place while nothing goes, and found none.
	Homeless []Failure
}

// Move is a pod and where it goes.
type Move struct {
	Pod   *Moving
	Node  *ExistingNode // nil when it goes to a new node
	Claim *Claim
}

// Failure is a pod that finds no place, and why.
type Failure struct {
	Pod string
	why string
}

func (f Failure) String() string { return f.Pod + " => " + f.why }

func (x *Index) take(g *group, domain string, n int) {
	g.take(domain, n)
	x.Journal.taken = append(x.Journal.taken, taken{group: g, domain: domain, n: n})
}

// lift takes a node away with the pods that can move.
func (x *Index) lift(n *ExistingNode) {
	n.gone = true
	x.Journal.lifted = append(x.Journal.lifted, n)
	x.Spend(aPlace)
	x.know(n, -1)
	for _, m := range n.Movable {
		x.countMoving(m, n, -1)
	}
}

// know adds a node, sign times, to what speaks for the domains that it lies in. Groups of one key lie together.
func (x *Index) know(n *ExistingNode, sign int) {
	key, domain, in := "", "", false
	x.Spend(aLook * len(x.groups))
	for _, g := range x.groups {
		if g.known == nil {
			continue
		}
		if g.key != key {
			key = g.key
			domain, in = n.domain(key)
		}
		if x.Spend(g.visit); in && g.filter.node(n) {
			g.know(domain, sign)
			x.Journal.taken = append(x.Journal.taken, taken{group: g, domain: domain, n: sign, known: true})
		}
	}
}

// countMoving adds a pod of a node, sign times, to the groups that count it there.
func (x *Index) countMoving(m *Moving, n *ExistingNode, sign int) {
	if !m.Active {
		return
	}
	for _, g := range m.Links.counted {
		x.Spend(g.visit)
		if d, ok := n.domain(g.key); ok && g.filter.node(n) {
			x.take(g, d, sign)
		}
	}
	x.Spend(aGroup * len(m.Links.keeps))
	for _, g := range m.Links.keeps {
		if d, ok := n.domain(g.key); ok {
			x.take(g, d, sign)
		}
	}
}

// unlift puts a node back that was lifted.
func (x *Index) unlift(n *ExistingNode) {
	n.gone = false
	x.know(n, 1)
	for _, m := range n.Movable {
		x.countMoving(m, n, 1)
	}
}

// undo returns the index to what it was before the simulation.
func (x *Index) undo() {
	for i := len(x.Journal.taken) - 1; i >= 0; i-- {
		t := &x.Journal.taken[i]
		if t.known {
			t.group.know(t.domain, -t.n)
		} else {
			t.group.take(t.domain, -t.n)
		}
	}
	for i := len(x.Journal.Placed) - 1; i >= 0; i-- {
		p := &x.Journal.Placed[i]
		p.pod.Requests.AddTo(p.node.Free, 1)
		p.node.ports.free(p.pod.State.Ports)
		for j := range p.volumes {
			v := &p.volumes[j]
			delete(p.node.volumes[v.Driver], cmp.Or(v.ID, v.Name))
		}
		p.node.taken--
	}
	for _, n := range x.Journal.lifted {
		n.gone = false
	}
	x.Journal = journal{lifted: x.Journal.lifted[:0], Placed: x.Journal.Placed[:0], taken: x.Journal.taken[:0]}
}

// Simulate takes nodes away and places their pods, with those that wait for a place already. With
// quiet, pods of the nodes taken away do not go to nodes still within consolidateAfter. Once the decision is given up,
// nothing finds a place.
func (x *Index) Simulate(gone []*ExistingNode, quiet bool) *Outcome {
	out := x.place(gone, quiet, false)
	if x.Stopped() {
		return givenUp
	}
	if len(out.Homeless) == 0 {
		return out
	}
	// Those that wait come first, if that suits everybody (N23).
	other := x.place(gone, quiet, true)
	switch {
	case x.Stopped():
		return givenUp
	case len(other.Homeless)+len(other.Failed) == 0:
		return other
	default:
		return out
	}
}

// givenUp is the outcome of a simulation that nobody waits for.
var givenUp = &Outcome{Failed: []Failure{{"", "the simulation was given up"}}}

// place is one attempt to simulate, with the pods that wait and have a place before all others, or not.
func (x *Index) place(gone []*ExistingNode, quiet, waitingFirst bool) *Outcome {
	homes := x.housing()
	for _, n := range gone {
		x.lift(n)
	}
	r := &Run{X: x, quiet: quiet, homes: homes, Limits: x.RemainingLimits(gone), Out: &Outcome{}}
	x.Spend(aPod * len(x.Waiting))
	queue := x.queue(gone)
	if waitingFirst {
		housedFirst(queue, homes)
	}
	r.all(queue)
	x.undo()
	return r.Out
}

// Run is one simulation.
type Run struct {
	X     *Index
	quiet bool
	// closed runs open no new nodes.
	closed bool
	homes  map[*Moving]*ExistingNode
	Limits map[*capacity.Pool][]int64
	// closings say why pools can make no node, until a new one takes of their limits.
	closings map[*capacity.Pool]string
	nowhere  nowhere
	Out      *Outcome
}

// all places pods in order, and says which found no place.
func (r *Run) all(queue []*Moving) {
	if r.X.pinned {
		queue = slices.DeleteFunc(queue, r.SettlePinned)
	}
	_, why := r.work(queue)
	r.X.Spend(aFailure * len(why))
	for m, reason := range why {
		switch {
		case m.From != nil:
			r.Out.Failed = append(r.Out.Failed, Failure{m.Key, reason})
		case r.homes[m] != nil:
			r.Out.Homeless = append(r.Out.Homeless, Failure{m.Key, reason})
		}
	}
	r.refuseUninitialized()
	byPod := func(a, b Failure) int { return cmp.Compare(a.Pod, b.Pod) }
	slices.SortFunc(r.Out.Failed, byPod)
	slices.SortFunc(r.Out.Homeless, byPod)
}

// work places pods in order. One that fails is tried again after the others, as long as any success came
// between. It returns those that are left, and why.
func (r *Run) work(queue []*Moving) ([]*Moving, map[*Moving]string) {
	why := make(map[*Moving]string)
	last := make(map[*Moving]int)
	for len(queue) > 0 && !r.X.Stopped() {
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
func (r *Run) refuseUninitialized() {
	for _, m := range r.Out.Moves {
		if m.Node == nil || m.Node.State.Initialized || !m.Node.State.Managed {
			continue
		}
		if m.Pod.From != nil && !m.Pod.From.Deleting {
			r.Out.Failed = append(r.Out.Failed, Failure{m.Pod.Key, fmt.Sprintf("would schedule against uninitialized node %s", m.Node.State.Name)})
		}
	}
}

// place finds a place for a pod, dropping its soft constraints one by one; "" when it has one.
func (r *Run) place(m *Moving) string {
	r.X.Spend(aPlace)
	reason := r.nowhere.of(m, len(r.Out.Claims))
	if reason != "" {
		return reason
	}
	for v := m.Links.Variant; v != nil; v = v.Softer {
		if n := r.FirstFit(m, v); n != nil {
			r.Settle(m, n)
			return ""
		}
		if r.closed {
			reason = "no node has room"
			continue
		}
		c, why := r.newNode(m, v)
		if c != nil {
			r.Out.Moves = append(r.Out.Moves, Move{Pod: m, Claim: c})
			return ""
		}
		reason = why
	}
	r.foundNone(m, reason)
	return reason
}

// SettlePinned puts a pod where it was promised a place, if it still fits there.
func (r *Run) SettlePinned(m *Moving) bool {
	if m.Pin == nil || m.Pin.gone || !m.Requests.FitsIn(m.Pin.Free) {
		return false
	}
	for v := m.Links.Variant; v != nil; v = v.Softer {
		if r.Takes(m.Pin, m, v) {
			r.Settle(m, m.Pin)
			return true
		}
	}
	return false
}

// FirstFit returns the first node in order that takes a pod.
func (r *Run) FirstFit(m *Moving, v *Variant) *ExistingNode {
	each := aLook * (1 + len(m.Requests.More))
	r.X.Spend(each * len(r.X.blocks))
	for i := range r.X.blocks {
		b := &r.X.blocks[i]
		if !m.Requests.FitsIn(b.most) {
			continue
		}
		for _, n := range r.X.Order[b.from:b.to] {
			if !n.gone && m.Requests.FitsIn(n.Free) && r.Takes(n, m, v) {
				return n
			}
		}
		if r.X.Spend(each * (b.to - b.from)); r.X.Stopped() {
			return nil
		}
	}
	return nil
}

// Takes reports whether a node with enough room takes a pod.
func (r *Run) Takes(n *ExistingNode, m *Moving, v *Variant) bool {
	r.X.Spend(tryCost(n, m, v))
	if r.quiet && n.Settling && m.From != nil && !m.From.Deleting {
		return false
	}
	if len(n.taints) > 0 && cluster.Repelled(v.tolerations, n.taints) != nil {
		return false
	}
	if len(m.State.Ports) > 0 && n.ports.clash(m.State.Ports) || len(m.State.Volumes) > 0 && !n.reaches(m.State.Volumes) {
		return false
	}
	return v.needs.Admits(n.Labels, n.Hostname) && groupsTake(n, m, v)
}

// groupsTake reports whether topology lets a pod onto a node.
func groupsTake(n *ExistingNode, m *Moving, v *Variant) bool {
	for _, g := range v.own {
		if d, ok := n.domain(g.key); !ok || !g.admits(m.Pod, d, v.strict.Get(g.key)) {
			return false
		}
	}
	for _, g := range m.Links.Avoids {
		if d, ok := n.domain(g.key); !ok || !g.admits(m.Pod, d, nil) {
			return false
		}
	}
	return true
}

// Settle puts a pod on a node.
func (r *Run) Settle(m *Moving, n *ExistingNode) {
	m.Requests.AddTo(n.Free, -1)
	n.taken++
	p := placed{pod: m, node: n}
	n.ports = n.ports.with(m.State.Ports)
	for i := range m.State.Volumes {
		if v := &m.State.Volumes[i]; n.attach(v) {
			p.volumes = append(p.volumes, *v)
		}
	}
	r.X.Journal.Placed = append(r.X.Journal.Placed, p)
	r.Out.Moves = append(r.Out.Moves, Move{Pod: m, Node: n})
	r.X.Spend(aGroup * len(m.Links.keeps))
	for _, g := range m.Links.counted {
		r.X.Spend(g.visit)
		if d, ok := n.domain(g.key); ok && g.filter.node(n) {
			r.X.take(g, d, 1)
		}
	}
	for _, g := range m.Links.keeps {
		if d, ok := n.domain(g.key); ok {
			r.X.take(g, d, 1)
		}
	}
}

// reaches reports whether the drivers of a node can attach a pod's volumes beside those they have.
func (n *ExistingNode) reaches(volumes []api.PodVolume) bool {
	fresh := map[string]map[string]bool{}
	for i := range volumes {
		v := &volumes[i]
		if v.Missing {
			return false
		}
		id := cmp.Or(v.ID, v.Name)
		if _, limited := n.State.AttachLimits[v.Driver]; !limited || n.volumes[v.Driver][id] {
			continue
		}
		if fresh[v.Driver] == nil {
			fresh[v.Driver] = map[string]bool{}
		}
		fresh[v.Driver][id] = true
		if len(n.volumes[v.Driver])+len(fresh[v.Driver]) > n.State.AttachLimits[v.Driver] {
			return false
		}
	}
	return true
}

// To names where a move leads.
func (m *Move) To() string {
	if m.Node != nil {
		return m.Node.State.Name
	}
	return m.Claim.Hostname
}

// housedFirst puts those that have a place before the others.
func housedFirst(queue []*Moving, homes map[*Moving]*ExistingNode) {
	slices.SortStableFunc(queue, func(a, b *Moving) int {
		switch {
		case (homes[a] != nil) == (homes[b] != nil):
			return 0
		case homes[a] != nil:
			return -1
		}
		return 1
	})
}

// Failures tells of the first few, and how many more there are.
func Failures(list []Failure) string {
	var parts []string
	for _, f := range list[:min(len(list), 5)] {
		parts = append(parts, f.String())
	}
	text := strings.Join(parts, "; ")
	if len(list) > 5 {
		text += fmt.Sprintf("; and %d more", len(list)-5)
	}
	return text
}
