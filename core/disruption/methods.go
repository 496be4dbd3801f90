package disruption

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/simulate"
)

// multi looks for the longest prefix of candidates that can go at once.
func (d *deciding) multi(reason string) []Command {
	cs := d.candidates(MethodMulti, func(c *candidate) Refusal { return isConsolidationCandidate(d, c) })
	d.out.Eligible[MethodMulti] = names(cs)
	left := d.allowances(reason)
	dearestFirst(cs)
	cs = d.spend(MethodMulti, reason, cs, left)
	if len(cs) < 2 {
		return nil
	}
	most := cmp.Or(d.x.State.Rules.MultiNodeMax, multiNodeMax)
	low, high := 1, min(most, len(cs)-1)
	var best []Command
	cut := map[int]Refusal{} // what keeps the last of a prefix
	for low <= high {
		middle := (low + high) / 2
		set := cs[:middle+1]
		if c, refusal := d.together(set); refusal.Code == "" {
			best, low = []Command{c}, middle+1
		} else {
			high, cut[middle] = middle-1, refusal
		}
	}
	if refusal := cut[high+1]; best != nil && refusal.Code == CodePendingPodNeedsIt {
		d.refuse(MethodMulti, cs[high+1].name(), refusal)
	}
	return best
}

// together consolidates several nodes, if that is worth it.
func (d *deciding) together(set []*candidate) (Command, Refusal) {
	o := d.consolidate(MethodMulti, set)
	if !o.ok {
		return Command{}, o.refusal
	}
	if o.claim != nil {
		if refusal := d.otherType(o.claim, set); refusal.Code != "" {
			return Command{}, refusal
		}
		d.launch(&o.command, []*simulate.Claim{o.claim})
	}
	return o.command, d.unbalanced(set, o.claim)
}

// otherType applies the same-type rule: replacing nodes by one of a type among them must beat keeping
// the cheapest of that type.
func (d *deciding) otherType(c *simulate.Claim, set []*candidate) Refusal {
	cheapest := map[string]float64{}
	for _, one := range set {
		where := capacity.Needs{}.With(corev1.LabelTopologyZone, capacity.OneValue(one.zone)).With(api.LabelCapacityType, capacity.OneValue(one.capacityType))
		price, found := math.Inf(1), false
		for i := range one.machine.Offerings {
			if o := &one.machine.Offerings[i]; o.Fits(where) {
				price, found = min(price, o.Price), true
			}
		}
		name := one.machine.Name
		if old, seen := cheapest[name]; !seen || found && (price < old || old == 0) {
			if !found {
				price = 0
			}
			cheapest[name] = price
		}
	}
	bound := math.Inf(1)
	for _, m := range c.Types {
		if price, ok := cheapest[m.Name]; ok {
			bound = min(bound, price)
		}
	}
	if math.IsInf(bound, 1) {
		return Refusal{}
	}
	return keepCheaper(c, bound)
}

// single takes the first node in order that can go alone.
func (d *deciding) single(reason string) []Command {
	cs := d.candidates(MethodSingle, func(c *candidate) Refusal { return isConsolidationCandidate(d, c) })
	d.out.Eligible[MethodSingle] = names(cs)
	left := d.allowances(reason)
	dearestFirst(cs)
	for _, c := range interleave(cs) {
		if !left.has(c.Pool) {
			d.overBudget(MethodSingle, reason, c, left)
			continue
		}
		command, refusal := d.alone(c)
		if refusal.Code != "" {
			d.refuse(MethodSingle, c.name(), refusal)
			continue
		}
		return []Command{command}
	}
	return nil
}

// alone consolidates one node, if that is worth it.
func (d *deciding) alone(c *candidate) (Command, Refusal) {
	set := []*candidate{c}
	if d.hopeless(c) {
		return Command{}, Refusal{Code: CodeScore, Message: fmt.Sprintf("policy Balanced: even without a replacement the saving of %s is too small for the disruption of %.1f", c.worth().Sentence(), c.cost)}
	}
	o := d.consolidate(MethodSingle, set)
	if !o.ok {
		return Command{}, o.refusal
	}
	if o.claim != nil {
		d.launch(&o.command, []*simulate.Claim{o.claim})
	}
	return o.command, d.unbalanced(set, o.claim)
}

// poolWeight is what a whole pool costs, in money and in disruption.
type poolWeight struct{ price, cost float64 }

func (d *deciding) weigh(p *capacity.Pool) poolWeight {
	w, known := d.weights[p]
	if known {
		return w
	}
	for i := range d.roster.all {
		if c := &d.roster.all[i]; c.Pool == p && c.State.Managed {
			w.price += c.price
			w.cost += c.cost
		}
	}
	d.weights[p] = w
	return w
}

// leastScore is the share of a pool's price that a move must save for each share of its disruption.
const leastScore = 0.5

// hopeless reports a node of a Balanced pool that could not pass even if it were deleted for nothing.
func (d *deciding) hopeless(c *candidate) bool {
	if c.Pool.Policy != api.Balanced {
		return false
	}
	w := d.weigh(c.Pool)
	return w.price > 0 && score(c.price, c.cost, w) < leastScore
}

func score(savings, cost float64, w poolWeight) float64 {
	if savings <= 0 || w.price <= 0 || cost <= 0 || w.cost <= 0 {
		return 0
	}
	return (savings / w.price) / (cost / w.cost)
}

// unbalanced refuses a move that saves too little for what it disturbs, in any Balanced pool of its
// nodes.
func (d *deciding) unbalanced(set []*candidate, c *simulate.Claim) Refusal {
	total, spent := 0.0, 0.0
	pools := map[*capacity.Pool]poolWeight{}
	for _, one := range set {
		total += one.price
		w := pools[one.Pool]
		w.price, w.cost = w.price+one.price, w.cost+one.cost
		pools[one.Pool] = w
	}
	if c != nil {
		spent = launchPrice(c.Types[0], c.Needs)
	}
	ordered := make([]*capacity.Pool, 0, len(pools))
	for p := range pools {
		if p.Policy == api.Balanced {
			ordered = append(ordered, p)
		}
	}
	slices.SortFunc(ordered, func(a, b *capacity.Pool) int { return cmp.Compare(a.Name, b.Name) })
	for _, p := range ordered {
		share := pools[p]
		savings := share.price - spent
		if len(pools) > 1 && total > 0 {
			savings = (total - spent) * share.price / total
		}
		if got := score(savings, share.cost, d.weigh(p)); got < leastScore {
			return Refusal{Code: CodeScore, Message: fmt.Sprintf("policy Balanced of NodePool %s: the move scores %.2f (share of price saved for share of disruption), it takes %.1f", p.Name, got, leastScore)}
		}
	}
	return Refusal{}
}
