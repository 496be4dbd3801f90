package overview

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
)

// PoolSum is a node pool over all its members, or what it has on one. Nodes of no pool are those of the pool without a name.
type PoolSum struct {
	Pool   string `json:"pool"`
	Member string `json:"member,omitempty"` // empty over all members
	Nodes  int    `json:"nodes"`
	// States counts nodes by state, Price is what they cost an hour; Unpriced counts those of which nobody knows.
	States   map[string]int `json:"states"`
	Price    float64        `json:"price"`
	Unpriced int            `json:"unpriced,omitempty"`
	// Going counts the nodes that are decided to go by reason, Staying the others by the code of why they stay.
	Going   map[string]int `json:"going,omitempty"`
	Staying map[string]int `json:"staying,omitempty"`
	Drifted int            `json:"drifted,omitempty"`
	// Disrupting counts the nodes of disruptions that are under way, Savings what these save an hour, as far as is known.
	Disrupting int     `json:"disrupting"`
	Savings    float64 `json:"savings"`
	// Budgets are those of the pool on the members it has nodes on, by name of the member.
	Budgets []disruption.PoolBudget `json:"budgets,omitempty"`
	// Allowed is how many nodes may go now for any one reason, at most, over these.
	Allowed int  `json:"allowed"`
	AnyMore bool `json:"anyMore,omitempty"` // some budget allows as many as there are
	// Members are the sums on each, the one with most nodes that go first, then by name; of a sum on one member none.
	Members []PoolSum `json:"members,omitempty"`
}

// PoolsOf sums nodes, their disruptions and budgets, which may be nil, by pool, by name.
func PoolsOf(nodes []api.MemberNode, disruptions []api.NodeDisruption, budgets *disruption.BudgetReport) []PoolSum {
	s := poolSums{whole: map[string]*PoolSum{}, parts: map[[2]string]*PoolSum{}, poolOf: map[[2]string]string{}}
	for i := range nodes {
		n := &nodes[i]
		s.poolOf[[2]string{n.Spec.Member, n.Name}] = n.Spec.NodePool
		s.both(n.Spec.NodePool, n.Spec.Member, func(p *PoolSum) { p.node(n) })
	}
	for i := range disruptions {
		s.disruption(&disruptions[i])
	}
	for i := 0; budgets != nil && i < len(budgets.Pools); i++ {
		b := &budgets.Pools[i]
		s.both(b.Name, b.Member, func(p *PoolSum) { p.budget(b) })
	}
	return s.sorted()
}

type poolSums struct {
	whole  map[string]*PoolSum
	parts  map[[2]string]*PoolSum
	poolOf map[[2]string]string // by member and node
}

// both changes the sum of a pool and that of its part on a member.
func (s *poolSums) both(pool, member string, change func(*PoolSum)) {
	whole, part := s.whole[pool], s.parts[[2]string{pool, member}]
	if whole == nil {
		whole = newSum(pool, "")
		s.whole[pool] = whole
	}
	if part == nil {
		part = newSum(pool, member)
		s.parts[[2]string{pool, member}] = part
	}
	change(whole)
	change(part)
}

func newSum(pool, member string) *PoolSum {
	return &PoolSum{Pool: pool, Member: member, States: map[string]int{}, Going: map[string]int{}, Staying: map[string]int{}}
}

func (p *PoolSum) node(n *api.MemberNode) {
	status := &n.Status
	p.Nodes++
	p.States[status.State]++
	p.Price += status.Price.Amount
	if status.Price.Unknown {
		p.Unpriced++
	}
	v := status.Verdict
	switch {
	case v == nil:
	case v.Disrupt != "":
		p.Going[v.Disrupt]++
	case v.Code != "":
		p.Staying[v.Code]++
	}
	if v != nil && v.Drift != "" {
		p.Drifted++
	}
}

// disruption counts one that is under way: its nodes where they belong, what it saves with the first of them.
func (s *poolSums) disruption(d *api.NodeDisruption) {
	if d.Status.Phase != api.PhaseLaunching && d.Status.Phase != api.PhaseDraining {
		return
	}
	saves := d.Status.Savings
	for _, node := range d.Status.Nodes {
		pool, known := s.poolOf[[2]string{d.Spec.Member, node}]
		if !known {
			continue
		}
		s.both(pool, d.Spec.Member, func(p *PoolSum) {
			p.Disrupting++
			if !saves.Unknown {
				p.Savings += saves.Amount
			}
		})
		saves = api.Hourly{}
	}
}

func (p *PoolSum) budget(b *disruption.PoolBudget) {
	p.Budgets = append(p.Budgets, *b)
	most := 0
	for _, allowed := range b.Allowed {
		if allowed >= capacity.Unbounded {
			p.AnyMore = true
			continue
		}
		most = max(most, int(allowed))
	}
	p.Allowed += most
}

func (s *poolSums) sorted() []PoolSum {
	for _, part := range s.parts {
		whole := s.whole[part.Pool]
		whole.Members = append(whole.Members, *part)
	}
	out := make([]PoolSum, 0, len(s.whole))
	for _, whole := range s.whole {
		slices.SortFunc(whole.Members, func(a, b PoolSum) int { return cmp.Or(b.going()-a.going(), strings.Compare(a.Member, b.Member)) })
		slices.SortFunc(whole.Budgets, func(a, b disruption.PoolBudget) int { return strings.Compare(a.Member, b.Member) })
		out = append(out, *whole)
	}
	slices.SortFunc(out, func(a, b PoolSum) int { return strings.Compare(a.Pool, b.Pool) })
	return out
}

// Populated are the sums on members that have nodes of the pool.
func (p *PoolSum) Populated() []PoolSum {
	return slices.DeleteFunc(slices.Clone(p.Members), func(of PoolSum) bool { return of.Nodes+of.Disrupting == 0 })
}

func (p *PoolSum) going() (n int) {
	for _, of := range p.Going {
		n += of
	}
	return n
}

// PoolTable holds the sums of pools.
func PoolTable(pools []PoolSum) *Table {
	return TableOf("nodepools", pools, pools, func(p *PoolSum) []string {
		return []string{
			p.Pool, p.Member, strconv.Itoa(p.Nodes), fmt.Sprintf("%.4f", p.Price), strconv.Itoa(p.Unpriced), strconv.Itoa(p.Disrupting),
			strconv.Itoa(p.Allowed), strconv.Itoa(p.Drifted), fmt.Sprintf("%.4f", p.Savings),
		}
	}, "pool", "member", "nodes", "price an hour", "of unknown price", "disrupting", "allowed", "drifted", "saved an hour")
}

// NodeTable holds nodes with what is decided of them.
func NodeTable(nodes []api.MemberNode) *Table {
	return TableOf("nodes", nodes, nodes, func(n *api.MemberNode) []string {
		verdict := cmp.Or(n.Status.Verdict, &api.NodeVerdict{})
		return []string{
			n.Spec.Member, n.Name, n.Spec.NodePool, n.Status.InstanceType, n.Status.Zone, n.Status.CapacityType, strconv.Itoa(n.Status.Pods),
			n.Status.Price.String(), n.Status.State, verdict.Disrupt, verdict.Code, verdict.Message,
		}
	}, "member", "node", "pool", "type", "zone", "capacity", "pods", "price an hour", "state", "goes for", "stays for", "why")
}
