package simulate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/cluster"
)

// Claim is a new node that a simulation opened.
type Claim struct {
	Pool     *capacity.Pool
	number   int
	Needs    capacity.Needs
	Types    []*capacity.Machine
	Requests []int64
	pods     []*Moving
	ports    hostPorts
	Hostname string
}

// freshNode is what every new node of a pool begins with.
type freshNode struct {
	daemons []int64
	ports   hostPorts
	types   []*capacity.Machine
	rows    map[*capacity.Machine][]int64 // allocatable by type
	sizes   map[*capacity.Machine][]int64 // capacity by type
}

const nodesName = "nodes"

func (x *Index) freshOf(p *capacity.Pool) *freshNode {
	if f := x.begun.fresh[p]; f != nil {
		return f
	}
	f := &freshNode{daemons: make([]int64, x.cols), rows: map[*capacity.Machine][]int64{}, sizes: map[*capacity.Machine][]int64{}}
	for _, d := range x.State.Cluster.Daemons {
		x.Spend(daemonCost(d, p.Taints))
		if cluster.Repelled(d.State.Tolerations, p.Taints) == nil && x.daemonFits(d, func(t capacity.Needs) bool { _, ok := p.Needs.Allows(t, x.extra); return ok }) {
			d.Requests.AddTo(f.daemons, 1)
			f.ports = f.ports.with(d.State.Ports)
		}
	}
	for _, m := range p.Types {
		f.rows[m], f.sizes[m] = x.row(m.Allocatable), x.row(m.Capacity)
		if within(f.daemons, f.rows[m]) {
			f.types = append(f.types, m)
		}
	}
	x.begun.fresh[p] = f
	return f
}

// row lays amounts out in columns; resources that no node or pod of the member has do not matter.
func (x *Index) row(a api.Amounts) []int64 {
	out := make([]int64, x.cols)
	for name, n := range a {
		if i, ok := x.State.Cluster.Resources.Index[name]; ok {
			out[i] = n
		}
	}
	return out
}

func within(wanted, free []int64) bool {
	for i, n := range wanted {
		if n > free[i] {
			return false
		}
	}
	return true
}

// RemainingLimits is what pools with limits may still buy once some nodes are gone. Limits on
// resources that nothing on the member has cannot be reached.
func (x *Index) RemainingLimits(gone []*ExistingNode) map[*capacity.Pool][]int64 {
	var out map[*capacity.Pool][]int64
	for _, p := range x.Pools {
		if p.Limits == nil {
			continue
		}
		left := make([]int64, x.cols+1)
		for i := range left {
			left[i] = math.MaxInt64
		}
		x.Spend(len(x.Nodes) * (aLook + 2*len(gone)))
		for name, i := range x.State.Cluster.Resources.Index {
			if n, ok := p.Limits[name]; ok {
				left[i] = n
			}
		}
		if n, ok := p.Limits[nodesName]; ok {
			left[x.cols] = n
		}
		for _, n := range x.Nodes {
			if n.Pool == p && !n.Deleting && !slices.Contains(gone, n) {
				spend(left, &n.Capacity)
			}
		}
		if out == nil {
			out = map[*capacity.Pool][]int64{}
		}
		out[p] = left
	}
	return out
}

func spend(left []int64, v *cluster.Vector) {
	for i, n := range v.Base {
		if left[i] != math.MaxInt64 {
			left[i] -= n
		}
	}
	for _, e := range v.More {
		if left[e.Index] != math.MaxInt64 {
			left[e.Index] -= e.Amount
		}
	}
	if last := len(left) - 1; left[last] != math.MaxInt64 {
		left[last]--
	}
}

// newNode puts a pod on a new node that is open already, fewest pods first, or opens one.
func (r *Run) newNode(m *Moving, v *Variant) (*Claim, string) {
	open := slices.Clone(r.Out.Claims)
	r.X.Spend(aNeed * len(open))
	slices.SortStableFunc(open, func(a, b *Claim) int { return cmp.Compare(len(a.pods), len(b.pods)) })
	for _, c := range open {
		if r.X.Stopped() {
			break
		}
		if needs, types, why := r.fit(c, m, v); why == "" {
			r.join(c, m, needs, types)
			return c, ""
		}
	}
	reason := "no pool can make a node"
	var closed *capacity.Pool // the last one, when it can make no node at all
	var short *Claim          // the last one that no type suits
	var within capacity.Needs
	for _, p := range r.X.Pools {
		if p.Static || p.Deleting {
			continue
		}
		c := r.Open(p)
		if r.X.Spend(aPool); c == nil {
			closed, short = p, nil
			continue
		}
		needs, types, why := r.fit(c, m, v)
		if closed, short = nil, nil; why == noType {
			short, within = c, needs
		}
		if why != "" {
			reason = fmt.Sprintf("pool %s: %s", p.Name, why)
			continue
		}
		r.join(c, m, needs, types)
		r.Out.Claims = append(r.Out.Claims, c)
		r.Charge(p, c)
		return c, ""
	}
	switch {
	case closed != nil:
		reason = r.ClosedTo(closed)
	case short != nil:
		reason = fmt.Sprintf("pool %s: %s", short.Pool.Name, r.typeless(short, m, within))
	}
	return nil, reason
}

// Open begins a new node of a pool within the pool's limits, nil when none can be made: closedTo says why.
func (r *Run) Open(p *capacity.Pool) *Claim {
	f := r.X.freshOf(p)
	types := f.types
	if left := r.Limits[p]; left != nil {
		types = nil
		for _, m := range f.types {
			if within(f.sizes[m], left) && left[len(left)-1] > 0 {
				types = append(types, m)
			}
		}
	}
	if len(types) == 0 {
		return nil
	}
	c := &Claim{Pool: p, number: len(r.Out.Claims), Types: types, Requests: slices.Clone(f.daemons), ports: f.ports}
	c.Hostname = fmt.Sprintf("new-%d", c.number)
	c.Needs = p.Needs.With(corev1.LabelHostname, capacity.OneValue(c.Hostname))
	return c
}

// Charge takes the largest type that a new node may become off its pool's limits.
func (r *Run) Charge(p *capacity.Pool, c *Claim) {
	left := r.Limits[p]
	if left == nil {
		return
	}
	delete(r.closings, p)
	f := r.X.freshOf(p)
	for i := range r.X.cols {
		var most int64
		for _, m := range c.Types {
			most = max(most, f.sizes[m][i])
		}
		if left[i] != math.MaxInt64 {
			left[i] -= most
		}
	}
	if left[r.X.cols] != math.MaxInt64 {
		left[r.X.cols]--
	}
}

// fit returns what a new node would be restricted to with one more pod, or why it does not take it; noType
// tells typeless to say more.
func (r *Run) fit(c *Claim, m *Moving, v *Variant) (capacity.Needs, []*capacity.Machine, string) {
	r.X.Spend(aTry + aTaint*len(c.Pool.Taints)*len(v.tolerations) + aPort*len(m.State.Ports) + needsCost(len(c.Needs), len(v.needs)))
	if t := cluster.Repelled(v.tolerations, c.Pool.Taints); t != nil {
		return nil, nil, "did not tolerate taint " + t.Key
	}
	if len(m.State.Ports) > 0 && c.ports.clash(m.State.Ports) {
		return nil, nil, "a host port is taken"
	}
	if slices.ContainsFunc(m.State.Volumes, func(v api.PodVolume) bool { return v.Missing }) {
		return nil, nil, "a volume claim does not exist"
	}
	n := c.Needs
	if len(v.needs) > 0 {
		if key, ok := n.Allows(v.needs, r.X.extra); !ok {
			return nil, nil, incompatible(n, v.needs, key)
		}
		n = n.WithAll(v.needs)
	}
	restricted := n
	for i, groups := range [][]*group{v.own, m.Links.Avoids} {
		for _, g := range groups {
			var allowed *capacity.Set
			if i == 0 {
				allowed = v.strict.Get(g.key)
			}
			open := restricted.Get(g.key)
			if open == nil {
				open = &capacity.AnyValue
			}
			r.X.Spend(needsCost(len(n), 1))
			domains := g.choose(m.Pod, open, allowed)
			if domains.None() {
				return nil, nil, g.refusal()
			}
			n = n.With(g.key, domains)
			if s := n.Get(g.key); s.None() {
				return nil, nil, g.refusal()
			}
		}
	}
	types := r.fitting(c, m, n)
	if len(types) == 0 {
		return n, nil, noType
	}
	if key := c.Pool.Lacks(types); key != "" {
		return nil, nil, "minValues requirement is not met for label " + key
	}
	return n, types, ""
}

func incompatible(have, want capacity.Needs, key string) string {
	if have.Get(key) == nil {
		return fmt.Sprintf("incompatible requirements, label %q does not have known values", key)
	}
	return fmt.Sprintf("incompatible requirements, key %s, %s not in %s", key, want.Get(key), have.Get(key))
}

// fitting are the types of a new node that have room for one more pod within n.
func (r *Run) fitting(c *Claim, m *Moving, n capacity.Needs) []*capacity.Machine {
	f := r.X.freshOf(c.Pool)
	total := slices.Clone(c.Requests)
	m.Requests.AddTo(total, 1)
	same := len(n) == len(c.Needs) && (len(n) == 0 || &n[0] == &c.Needs[0])
	if r.X.Spend(aType * len(c.Types)); !same {
		r.X.Spend(aNeed * len(n) * len(c.Types))
	}
	out := make([]*capacity.Machine, 0, len(c.Types))
	for _, t := range c.Types {
		if within(total, f.rows[t]) && (same || n.Intersects(t.Needs) && t.Offered(n) && r.X.labelled(t, n)) {
			out = append(out, t)
		}
	}
	return out
}

// Amounts names the columns of a row that hold anything.
func (x *Index) Amounts(row []int64) api.Amounts {
	out := api.Amounts{}
	for name, i := range x.State.Cluster.Resources.Index {
		if row[i] != 0 {
			out[name] = row[i]
		}
	}
	return out
}

// labelled reports whether a type has the labels asked for that only types can give.
func (x *Index) labelled(t *capacity.Machine, n capacity.Needs) bool {
	for key := range x.extra {
		if s := n.Get(key); s != nil && !s.Lenient() && t.Needs.Get(key) == nil {
			return false
		}
	}
	return true
}

// join puts a pod on a new node.
func (r *Run) join(c *Claim, m *Moving, n capacity.Needs, types []*capacity.Machine) {
	c.Needs, c.Types, c.pods = n, types, append(c.pods, m)
	m.Requests.AddTo(c.Requests, 1)
	if len(m.State.Ports) > 0 {
		r.X.Spend(aPort * (len(c.ports) + len(m.State.Ports)))
		c.ports = c.ports.clone().with(m.State.Ports)
	}
	for _, g := range m.Links.counted {
		s := n.Get(g.key)
		r.X.Spend(g.visit)
		if s == nil || s.Anything || !g.filter.claim(c.Pool.Taints, n) {
			continue
		}
		if g.kind == antiGroup {
			r.X.Spend(aCount * len(s.Values))
			for _, d := range s.Values {
				r.X.take(g, d, 1)
			}
		} else if len(s.Values) == 1 {
			r.X.take(g, s.Values[0], 1)
		}
	}
	for _, g := range m.Links.keeps {
		if s := n.Get(g.key); s != nil && !s.Anything {
			r.X.Spend(aCount * len(s.Values))
			for _, d := range s.Values {
				r.X.take(g, d, 1)
			}
		}
	}
}

// Expected is the node that a claim becomes when it is launched at its lowest price.
func (c *Claim) Expected(name string) *api.NodeState {
	m := capacity.ByPrice(c.Types, c.Needs)[0]
	labels := map[string]string{}
	for i := range c.Needs {
		if n := &c.Needs[i]; !n.Set.Anything && len(n.Set.Values) == 1 {
			labels[n.Key] = n.Set.Values[0]
		}
	}
	maps.Copy(labels, m.Labels)
	offering := m.LaunchType(c.Needs).Offerings[0]
	labels[corev1.LabelTopologyZone], labels[api.LabelCapacityType], labels[corev1.LabelHostname] = offering.Zone, offering.CapacityType, name
	return &api.NodeState{
		Name: name, Labels: labels, Taints: c.Pool.Taints, Capacity: m.Capacity, Allocatable: m.Allocatable,
		Managed: true, Ready: true, Initialized: true,
	}
}
