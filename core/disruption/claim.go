package disruption

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
)

// claim is a new node that a simulation opened.
type claim struct {
	pool     *Pool
	number   int
	needs    needs
	types    []*machine
	requests []int64
	pods     []*moving
	ports    []api.HostPort
	hostname string
}

// freshNode is what every new node of a pool begins with.
type freshNode struct {
	daemons []int64
	ports   []api.HostPort
	types   []*machine
	rows    map[*machine][]int64 // allocatable by type
	sizes   map[*machine][]int64 // capacity by type
}

const nodesName = "nodes"

func (x *Index) freshOf(p *Pool) *freshNode {
	if f := x.fresh[p]; f != nil {
		return f
	}
	f := &freshNode{daemons: make([]int64, x.cols), rows: map[*machine][]int64{}, sizes: map[*machine][]int64{}}
	for _, d := range x.state.Cluster.daemons {
		if repelled(d.state.Tolerations, p.taints) == nil && x.daemonFits(d, func(t needs) bool { _, ok := p.needs.allows(t, x.extra); return ok }) {
			d.req.addTo(f.daemons, 1)
			f.ports = append(f.ports, d.state.Ports...)
		}
	}
	for _, m := range p.types {
		f.rows[m], f.sizes[m] = x.row(m.allocatable), x.row(m.capacity)
		if within(f.daemons, f.rows[m]) {
			f.types = append(f.types, m)
		}
	}
	x.fresh[p] = f
	return f
}

// row lays amounts out in columns; resources that no node or pod of the member has do not matter.
func (x *Index) row(a api.Amounts) []int64 {
	out := make([]int64, x.cols)
	for name, n := range a {
		if i, ok := x.state.Cluster.resources.index[name]; ok {
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

// remainingLimits is what pools with limits may still buy once some nodes are gone. Limits on
// resources that nothing on the member has cannot be reached.
func (x *Index) remainingLimits(gone []*inode) map[*Pool][]int64 {
	var out map[*Pool][]int64
	for _, p := range x.pools {
		if p.limits == nil {
			continue
		}
		left := make([]int64, x.cols+1)
		for i := range left {
			left[i] = math.MaxInt64
		}
		for name, i := range x.state.Cluster.resources.index {
			if n, ok := p.limits[name]; ok {
				left[i] = n
			}
		}
		if n, ok := p.limits[nodesName]; ok {
			left[x.cols] = n
		}
		for _, n := range x.nodes {
			if n.pool == p && !n.deleting && !slices.Contains(gone, n) {
				spend(left, &n.capacity)
			}
		}
		if out == nil {
			out = map[*Pool][]int64{}
		}
		out[p] = left
	}
	return out
}

func spend(left []int64, v *vec) {
	for i, n := range v.base {
		if left[i] != math.MaxInt64 {
			left[i] -= n
		}
	}
	for _, e := range v.more {
		if left[e.index] != math.MaxInt64 {
			left[e.index] -= e.amount
		}
	}
	if last := len(left) - 1; left[last] != math.MaxInt64 {
		left[last]--
	}
}

// newNode puts a pod on a new node that is open already, fewest pods first, or opens one.
func (r *run) newNode(m *moving, v *variant) (*claim, string) {
	open := slices.Clone(r.out.claims)
	slices.SortStableFunc(open, func(a, b *claim) int { return cmp.Compare(len(a.pods), len(b.pods)) })
	for _, c := range open {
		if needs, types, why := r.fit(c, m, v); why == "" {
			r.join(c, m, needs, types)
			return c, ""
		}
	}
	reason := "no pool can make a node"
	var closed *Pool // the last one, when it can make no node at all
	var short *claim // the last one that no type suits
	var within needs
	for _, p := range r.x.pools {
		if p.static || p.deleting {
			continue
		}
		c := r.open(p)
		if c == nil {
			closed, short = p, nil
			continue
		}
		needs, types, why := r.fit(c, m, v)
		if closed, short = nil, nil; why == noType {
			short, within = c, needs
		}
		if why != "" {
			reason = fmt.Sprintf("pool %s: %s", p.name, why)
			continue
		}
		r.join(c, m, needs, types)
		r.out.claims = append(r.out.claims, c)
		r.charge(p, c)
		return c, ""
	}
	switch {
	case closed != nil:
		reason = r.closedTo(closed)
	case short != nil:
		reason = fmt.Sprintf("pool %s: %s", short.pool.name, r.typeless(short, m, within))
	}
	return nil, reason
}

// open begins a new node of a pool within the pool's limits, nil when none can be made: closedTo says why.
func (r *run) open(p *Pool) *claim {
	f := r.x.freshOf(p)
	types := f.types
	if left := r.limits[p]; left != nil {
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
	c := &claim{pool: p, number: len(r.out.claims), types: types, requests: slices.Clone(f.daemons), ports: f.ports}
	c.hostname = fmt.Sprintf("new-%d", c.number)
	c.needs = p.needs.with(corev1.LabelHostname, oneValue(c.hostname))
	return c
}

// charge takes the largest type that a new node may become off its pool's limits.
func (r *run) charge(p *Pool, c *claim) {
	left := r.limits[p]
	if left == nil {
		return
	}
	delete(r.closings, p)
	f := r.x.freshOf(p)
	for i := range r.x.cols {
		var most int64
		for _, m := range c.types {
			most = max(most, f.sizes[m][i])
		}
		if left[i] != math.MaxInt64 {
			left[i] -= most
		}
	}
	if left[r.x.cols] != math.MaxInt64 {
		left[r.x.cols]--
	}
}

// fit returns what a new node would be restricted to with one more pod, or why it does not take it; noType
// tells typeless to say more.
func (r *run) fit(c *claim, m *moving, v *variant) (needs, []*machine, string) {
	if t := repelled(v.tolerations, c.pool.taints); t != nil {
		return nil, nil, "did not tolerate taint " + t.Key
	}
	if len(m.state.Ports) > 0 && portsClash(c.ports, m.state.Ports) {
		return nil, nil, "a host port is taken"
	}
	if slices.ContainsFunc(m.state.Volumes, func(v api.PodVolume) bool { return v.Missing }) {
		return nil, nil, "a volume claim does not exist"
	}
	n := c.needs
	if len(v.needs) > 0 {
		if key, ok := n.allows(v.needs, r.x.extra); !ok {
			return nil, nil, incompatible(n, v.needs, key)
		}
		n = n.withAll(v.needs)
	}
	restricted := n
	for i, groups := range [][]*group{v.own, m.links.avoids} {
		for _, g := range groups {
			var allowed *set
			if i == 0 {
				allowed = v.strict.get(g.key)
			}
			open := restricted.get(g.key)
			if open == nil {
				open = &anyValue
			}
			domains := g.choose(m.pod, open, allowed)
			if domains.none() {
				return nil, nil, g.refusal()
			}
			n = n.with(g.key, domains)
			if s := n.get(g.key); s.none() {
				return nil, nil, g.refusal()
			}
		}
	}
	types := r.fitting(c, m, n)
	if len(types) == 0 {
		return n, nil, noType
	}
	if key := c.pool.lacks(types); key != "" {
		return nil, nil, "minValues requirement is not met for label " + key
	}
	return n, types, ""
}

func incompatible(have, want needs, key string) string {
	if have.get(key) == nil {
		return fmt.Sprintf("incompatible requirements, label %q does not have known values", key)
	}
	return fmt.Sprintf("incompatible requirements, key %s, %s not in %s", key, want.get(key), have.get(key))
}

// fitting are the types of a new node that have room for one more pod within n.
func (r *run) fitting(c *claim, m *moving, n needs) []*machine {
	f := r.x.freshOf(c.pool)
	total := slices.Clone(c.requests)
	m.req.addTo(total, 1)
	same := len(n) == len(c.needs) && (len(n) == 0 || &n[0] == &c.needs[0])
	out := make([]*machine, 0, len(c.types))
	for _, t := range c.types {
		if within(total, f.rows[t]) && (same || n.intersects(t.needs) && t.offered(n) && r.x.labelled(t, n)) {
			out = append(out, t)
		}
	}
	return out
}

// amounts names the columns of a row that hold anything.
func (x *Index) amounts(row []int64) api.Amounts {
	out := api.Amounts{}
	for name, i := range x.state.Cluster.resources.index {
		if row[i] != 0 {
			out[name] = row[i]
		}
	}
	return out
}

// labelled reports whether a type has the labels asked for that only types can give.
func (x *Index) labelled(t *machine, n needs) bool {
	for key := range x.extra {
		if s := n.get(key); s != nil && !s.lenient() && t.needs.get(key) == nil {
			return false
		}
	}
	return true
}

// join puts a pod on a new node.
func (r *run) join(c *claim, m *moving, n needs, types []*machine) {
	c.needs, c.types, c.pods = n, types, append(c.pods, m)
	m.req.addTo(c.requests, 1)
	c.ports = append(slices.Clone(c.ports), m.state.Ports...)
	for _, g := range m.links.counted {
		s := n.get(g.key)
		if s == nil || s.anything || !g.filter.claim(c.pool.taints, n) {
			continue
		}
		if g.kind == antiGroup {
			for _, d := range s.values {
				r.x.take(g, d, 1)
			}
		} else if len(s.values) == 1 {
			r.x.take(g, s.values[0], 1)
		}
	}
	for _, g := range m.links.keeps {
		if s := n.get(g.key); s != nil && !s.anything {
			for _, d := range s.values {
				r.x.take(g, d, 1)
			}
		}
	}
}

// String names the new node and what it may be.
func (c *claim) String() string {
	var names []string
	for _, t := range c.types {
		names = append(names, t.name)
	}
	return fmt.Sprintf("new-%d (%s: %s)", c.number, c.pool.name, strings.Join(names, ", "))
}
