package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/cluster"
	"flotilla/core/phrase"
	"flotilla/core/simulate"
)

// Decision is what to disrupt now, and why nothing else is.
type Decision struct {
	// Commands are what to begin now, all of one method; several only for static pools and forceful
	// expiration.
	Commands []Command `json:"commands,omitempty"`
	// Stages are the methods that were tried.
	Stages []string `json:"stages,omitempty"`
	// Eligible are the nodes each method could have taken, before budgets.
	Eligible map[string][]string `json:"eligible,omitempty"`
	// Budgets is how many nodes may be disrupted beyond those that are, by reason and pool.
	Budgets map[string]map[string]capacity.Count `json:"budgets,omitempty"`
	// Verdicts has one for every node, by name.
	Verdicts []Verdict `json:"verdicts,omitempty"`
	// Recheck is when time alone can change the decision, zero when it cannot.
	Recheck time.Time `json:"recheck,omitzero"`
	// Stale says why nothing was decided.
	Stale string `json:"stale,omitempty"`
	// Evaluated counts simulations.
	Evaluated int `json:"evaluated,omitempty"`
	// Ended says that it was given up, as State.Ended asks: it is of use to nobody.
	Ended bool `json:"ended,omitempty"`
}

// deciding is one pass.
type deciding struct {
	x       *simulate.Index
	now     time.Time
	roster  *roster
	out     *Decision
	refused map[string][]Refusal
	drifts  map[string]string
	pools   poolCounts
	weights map[*capacity.Pool]poolWeight
}

// Decide returns what to disrupt now. It changes nothing; equal states give equal decisions.
func Decide(s *simulate.State) Decision { return begin(s).decide() }

func (d *deciding) decide() Decision {
	if d.undecided().Code == "" {
		d.choose()
	}
	if why := d.undecided(); why.Code != "" {
		d.leave(why)
	}
	return d.finish()
}

// choose tries one method after the other, until one finds something to do.
func (d *deciding) choose() {
	for _, m := range []struct {
		name, reason string
		run          func(string) []Command
	}{
		{MethodEmpty, api.ReasonEmpty, d.emptiness},
		{MethodStaticDrift, api.ReasonDrifted, d.staticDrift},
		{MethodDrift, api.ReasonDrifted, d.drift},
		{MethodExpired, api.ReasonExpired, d.expiration},
		{MethodMulti, api.ReasonUnderutilized, d.multi},
		{MethodSingle, api.ReasonUnderutilized, d.single},
	} {
		d.out.Stages = append(d.out.Stages, m.name)
		if d.out.Commands = m.run(m.reason); len(d.out.Commands) > 0 || d.x.Stopped() {
			break
		}
	}
}

// leave decides nothing about any node, and says why.
func (d *deciding) leave(why Refusal) {
	d.out = &Decision{Eligible: map[string][]string{}, Budgets: map[string]map[string]capacity.Count{}, Evaluated: d.out.Evaluated, Stale: why.Message, Ended: d.x.Gone()}
	d.refused = map[string][]Refusal{}
	for _, n := range d.x.Nodes {
		d.refuse("", n.State.Name, why)
	}
}

// What steps take that are not those of simulations, in nanoseconds as simulate.Work counts them.
const (
	oneRefusal = 500   // finding out that a node is no candidate, and why
	oneSpent   = 3_000 // telling which budget is spent
	oneBudget  = 25    // looking up what a PodDisruptionBudget counts on a node
	oneMove    = 300   // telling of a pod that moves
	oneCopy    = 20    // copying a pod
)

// undecided is why nothing can be decided about any node.
func (d *deciding) undecided() Refusal {
	if s := d.x.State; s.Stale != "" {
		return Refusal{Code: CodeStale, Message: s.Stale}
	}
	if d.x.Gone() {
		return Refusal{Code: CodeNotReached, Message: "nobody waits for the decision any more, and it was given up"}
	}
	if d.x.State.Cluster.Resources.Full {
		return Refusal{Code: CodeTangled, Message: fmt.Sprintf("the nodes and pods of the member name more than %d resources, which are not told apart", cluster.MostResources)}
	}
	if why := d.x.Tangled(); why != "" {
		return Refusal{Code: CodeTangled, Message: why}
	}
	return Refusal{}
}

func begin(s *simulate.State) *deciding {
	d := &deciding{
		x: simulate.NewIndex(s), now: s.Now, refused: map[string][]Refusal{}, drifts: map[string]string{}, weights: map[*capacity.Pool]poolWeight{},
		out: &Decision{Eligible: map[string][]string{}, Budgets: map[string]map[string]capacity.Count{}},
	}
	d.roster = newRoster(d.x)
	d.pools = countPools(d.x)
	return d
}

func (d *deciding) refuse(method, node string, r Refusal) {
	r.Method = method
	list := d.refused[node]
	if !slices.ContainsFunc(list, func(o Refusal) bool { return o.Code == r.Code && o.Message == r.Message && o.Event() == r.Event() }) {
		d.refused[node] = append(list, r)
	}
}

// recheck remembers a moment at which time alone may change the decision.
func (d *deciding) recheck(at time.Time) {
	if at.After(d.now) && (d.out.Recheck.IsZero() || at.Before(d.out.Recheck)) {
		d.out.Recheck = at
	}
}

func (d *deciding) finish() Decision {
	taken := map[string]*Command{}
	for i := range d.out.Commands {
		for _, n := range d.out.Commands[i].Nodes {
			taken[n] = &d.out.Commands[i]
		}
	}
	for i, n := range d.x.Nodes {
		name := n.State.Name
		v := Verdict{Node: name, Pool: n.Node.Pool, Refusals: d.refused[name], Drift: d.driftOf(&d.roster.all[i])}
		if c := taken[name]; c != nil {
			v.Disrupt, v.Method = c.Reason, c.Method
		} else if len(v.Refusals) == 0 {
			v.Refusals = []Refusal{NotReached}
		}
		if d.roster.barred[i].Code == CodeNominated && v.Disrupt == "" {
			v.Lasting = d.lasting(&d.roster.all[i])
		}
		d.out.Verdicts = append(d.out.Verdicts, v)
		d.wake(n.State, d.roster.until[i])
	}
	for _, p := range d.x.Pools {
		d.recheck(p.Budgets.NextChange(d.now))
	}
	return *d.out
}

// wake rechecks when a node's own times run out.
func (d *deciding) wake(s *api.NodeState, until time.Time) {
	d.recheck(until)
	d.recheck(d.x.State.NominatedUntil(s))
	d.recheck(d.x.State.Backoffs[s.Name])
	if at, ok := ExpiresAt(s, d.x.ByPool[s.Labels[api.LabelNodePool]]); ok {
		d.recheck(at)
	}
}

// poolCounts are the nodes of each pool that budgets count.
type poolCounts struct {
	total, disrupting map[string]int
}

func countPools(x *simulate.Index) poolCounts {
	c := poolCounts{map[string]int{}, map[string]int{}}
	for _, n := range x.Nodes {
		total, down := counts(n.State, n.Deleting)
		if !total {
			continue
		}
		c.total[n.Node.Pool]++
		if down {
			c.disrupting[n.Node.Pool]++
		}
	}
	return c
}

// counts reports whether budgets count a node, and whether as one that is down.
func counts(s *api.NodeState, deleting bool) (total, down bool) {
	return s.Managed && s.Initialized && !s.InstanceTerminating, !s.Ready || deleting
}

// allowance is what is left of budgets while a method spends them.
type allowance struct {
	pools map[string]capacity.Count
	fleet map[string]int // by the name of the fleet-wide budget
}

// has reports whether one more node of a pool may go.
func (a *allowance) has(p *capacity.Pool) bool {
	shared, bound := a.fleet[p.FleetBudget]
	return a.pools[p.Name] > 0 && (!bound || shared > 0)
}

func (a *allowance) take(p *capacity.Pool) {
	a.pools[p.Name]--
	if _, bound := a.fleet[p.FleetBudget]; bound {
		a.fleet[p.FleetBudget]--
	}
}

// allowances is what is left of every pool's budgets for a reason.
func (d *deciding) allowances(reason string) *allowance {
	a := &allowance{pools: make(map[string]capacity.Count, len(d.x.Pools)), fleet: map[string]int{}}
	shown := make(map[string]capacity.Count, len(d.x.Pools))
	for _, p := range d.x.Pools {
		n := capacity.Allowed(p.Budgets.Limit(d.now, d.pools.total[p.Name], reason, d.x.State.Rules), d.pools.disrupting[p.Name])
		a.pools[p.Name], shown[p.Name] = n, n
		if left, bound := d.x.State.FleetAllowed[p.FleetBudget]; bound && p.FleetBudget != "" {
			a.fleet[p.FleetBudget], shown[p.Name] = left, min(n, capacity.Count(max(0, left)))
		}
	}
	d.out.Budgets[reason] = shown
	return a
}

// spend takes candidates while their pools' budgets last, in order.
func (d *deciding) spend(method, reason string, cs []*candidate, left *allowance) []*candidate {
	taken, over := afford(cs, left)
	d.overBudgets(method, reason, over, left)
	return taken
}

// afford takes candidates in order while budgets last, and returns those too that they do not suffice for.
func afford(cs []*candidate, left *allowance) (taken, over []*candidate) {
	for _, c := range cs {
		if !left.has(c.Pool) {
			over = append(over, c)
			continue
		}
		left.take(c.Pool)
		taken = append(taken, c)
	}
	return taken, over
}

func (d *deciding) overBudgets(method, reason string, over []*candidate, left *allowance) {
	for _, c := range over {
		d.overBudget(method, reason, c, left)
	}
}

func (d *deciding) overBudget(method, reason string, c *candidate, left *allowance) {
	p := c.Pool
	d.x.Spend(oneSpent)
	d.refuse(method, c.name(), Refusal{Code: CodeBudget, Message: d.spent(reason, p, left), About: p.Name})
}

// spent says which budget keeps a pool's nodes, with its numbers.
func (d *deciding) spent(reason string, p *capacity.Pool, left *allowance) string {
	if err := p.Budgets.Err(); err != nil {
		return "the budgets of NodePool " + p.Name + " cannot be evaluated, so that nothing is allowed: " + err.Error()
	}
	if left.pools[p.Name] > 0 {
		return fmt.Sprintf("the fleet-wide budget %s, which NodePool %s shares, allows no further disruption now", p.FleetBudget, p.Name)
	}
	total, down := d.pools.total[p.Name], d.pools.disrupting[p.Name]
	limit := p.Budgets.Limit(d.now, total, reason, d.x.State.Rules)
	text := fmt.Sprintf("the budgets of NodePool %s allow no further disruption for %s now: %s of %s may be down, %d are",
		p.Name, reason, limit, phrase.Count(total, "node"), down)
	if begun := capacity.Allowed(limit, down); begun > 0 {
		text += fmt.Sprintf(", and %s more go before this one", begun)
	}
	return text
}

// emptiness removes empty nodes, many at once, without a simulation.
func (d *deciding) emptiness(reason string) []Command {
	cs := d.candidates(MethodEmpty, func(c *candidate) Refusal { return isEmptyCandidate(d, c) })
	d.out.Eligible[MethodEmpty] = names(cs)
	dearestFirst(cs)
	taken := d.sparing(MethodEmpty, reason, cs)
	if len(taken) == 0 {
		return nil
	}
	c := Command{Method: MethodEmpty, Reason: reason, Nodes: names(taken)}
	for _, t := range taken {
		c.Savings = c.Savings.Plus(t.worth())
	}
	return []Command{c}
}

// interleave orders candidates of several pools: the first of each pool by the pools' names, then the
// second of each.
func interleave(cs []*candidate) []*candidate {
	type placed struct {
		c    *candidate
		turn int
	}
	turns := map[string]int{}
	all := make([]placed, len(cs))
	for i, c := range cs {
		all[i] = placed{c, turns[c.Pool.Name]}
		turns[c.Pool.Name]++
	}
	slices.SortStableFunc(all, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.turn, b.turn), cmp.Compare(a.c.Pool.Name, b.c.Pool.Name))
	})
	out := make([]*candidate, len(all))
	for i := range all {
		out[i] = all[i].c
	}
	return out
}
