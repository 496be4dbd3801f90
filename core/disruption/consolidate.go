package disruption

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/simulate"
)

// How many nodes one command may take beyond the first, and how many cheaper types a spot node needs
// to be replaced by a spot node.
const (
	multiNodeMax = 100
	spotTypes    = 15
	maxTypes     = 600
)

// option is what could be done with a set of candidates.
type option struct {
	ok      bool
	command Command
	claim   *simulate.Claim
	refusal Refusal
}

func refused(code Code, format string, args ...any) option {
	return option{refusal: Refusal{Code: code, Message: fmt.Sprintf(format, args...)}}
}

// consolidate says whether a set of nodes can be deleted, or replaced by one cheaper node.
func (d *deciding) consolidate(method string, cs []*candidate) option {
	gone := make([]*simulate.ExistingNode, len(cs))
	price := 0.0
	for i, c := range cs {
		gone[i] = c.ExistingNode
		price += c.price
	}
	d.out.Evaluated++
	out := d.x.Simulate(gone, true)
	switch {
	case len(out.Failed) > 0:
		return refused(CodePodsUnplaced, "not all pods would find a node: %s", simulate.Failures(out.Failed))
	case len(out.Homeless) > 0:
		return option{refusal: neededRefusal(out.Homeless)}
	case len(out.Claims) == 0:
		return option{ok: true, command: d.command(method, api.ReasonUnderutilized, cs, out)}
	case len(out.Claims) > 1:
		return refused(CodeManyReplacements, "the node cannot go without making %d others", len(out.Claims))
	}
	c := out.Claims[0]
	c.Types = capacity.ByPrice(c.Types, c.Needs)
	if refusal := d.cheapen(c, cs, price); refusal.Code != "" {
		return option{refusal: refusal}
	}
	return option{ok: true, command: d.command(method, api.ReasonUnderutilized, cs, out), claim: c}
}

// cheapen keeps the types of a new node that cost less than what it replaces, and pins it to spot
// where its price assumes that.
func (d *deciding) cheapen(c *simulate.Claim, cs []*candidate, price float64) Refusal {
	kinds := c.Needs.Get(api.LabelCapacityType)
	allows := func(kind string) bool { return kinds == nil || kinds.Has(kind) }
	allSpot := !slices.ContainsFunc(cs, func(c *candidate) bool { return c.capacityType != api.CapacitySpot })
	if allSpot && allows(api.CapacitySpot) {
		return d.spotToSpot(c, len(cs), price)
	}
	if refusal := keepCheaper(c, price); refusal.Code != "" {
		return refusal
	}
	if allows(api.CapacitySpot) && allows(api.CapacityOnDemand) {
		d.pin(c)
	}
	return Refusal{}
}

// pin restricts a new node to spot and to the types that are sold so (N6), or, where none is, to the capacity
// types in which it is sold (N26).
func (d *deciding) pin(c *simulate.Claim) {
	off := d.x.State.Rules.Off
	spot := c.Needs.With(api.LabelCapacityType, capacity.OneValue(api.CapacitySpot))
	offered := soldWithin(c, spot)
	switch {
	case !offered && !off.OnlySold:
		c.Needs = c.Needs.With(api.LabelCapacityType, capacity.SetOf("In", soldKinds(c)))
	case offered && !off.SpotPin:
		c.Needs = spot
		c.Types = slices.DeleteFunc(c.Types, func(m *capacity.Machine) bool { return !m.Offered(spot) })
	default:
		c.Needs = spot
	}
}

// soldKinds are the capacity types in which some type left can be bought.
func soldKinds(c *simulate.Claim) []string {
	kinds := []string{api.CapacityOnDemand, api.CapacityReserved, api.CapacitySpot}
	return slices.DeleteFunc(kinds, func(kind string) bool {
		return !soldWithin(c, c.Needs.With(api.LabelCapacityType, capacity.OneValue(kind)))
	})
}

// soldWithin reports whether some type left can be bought within needs.
func soldWithin(c *simulate.Claim, needs capacity.Needs) bool {
	return slices.ContainsFunc(c.Types, func(m *capacity.Machine) bool { return m.Offered(needs) })
}

// keepCheaper keeps the types whose worst launch price is below a price.
func keepCheaper(c *simulate.Claim, price float64) Refusal {
	c.Types = slices.DeleteFunc(slices.Clone(c.Types), func(m *capacity.Machine) bool { return m.WorstLaunch(c.Needs) >= price })
	if key := c.Pool.Lacks(c.Types); key != "" {
		return Refusal{Code: CodeMinValues, Message: "among cheaper types, minValues is not met for label " + key}
	}
	if len(c.Types) == 0 {
		return Refusal{Code: CodeNotCheaper, Message: "it cannot be replaced by a cheaper node"}
	}
	return Refusal{}
}

// spotToSpot says why a spot node is not replaced by a cheaper spot node, "" when it may be: the feature
// is on, and enough types are cheaper that the next price does not move it again.
func (d *deciding) spotToSpot(c *simulate.Claim, candidates int, price float64) Refusal {
	if !d.x.State.Rules.SpotToSpot {
		return Refusal{Code: CodeSpotDisabled, Message: "spot-to-spot consolidation is off: a spot node is not replaced by a spot node"}
	}
	c.Needs = c.Needs.With(api.LabelCapacityType, capacity.OneValue(api.CapacitySpot))
	c.Types = slices.DeleteFunc(slices.Clone(c.Types), func(m *capacity.Machine) bool { return !m.Offered(c.Needs) })
	if refusal := keepCheaper(c, price); refusal.Code != "" {
		return refusal
	}
	if candidates > 1 {
		return Refusal{}
	}
	if len(c.Types) < spotTypes {
		return Refusal{Code: CodeSpotFew, Message: fmt.Sprintf("replacing spot by spot takes %d cheaper instance types to choose from, there are %d", spotTypes, len(c.Types))}
	}
	c.Types = c.Types[:max(spotTypes, c.Pool.Fewest(c.Types))]
	return Refusal{}
}

// command describes what is to be done. Its moves hold every pod that needs a place: those of the nodes
// that go, pending ones, and those of nodes that are deleting already.
func (d *deciding) command(method, reason string, cs []*candidate, out *simulate.Outcome) Command {
	c := Command{Method: method, Reason: reason, Nodes: names(cs)}
	for _, one := range cs {
		c.Savings = c.Savings.Plus(one.worth())
	}
	d.x.Spend(oneMove * len(out.Moves))
	for _, m := range out.Moves {
		move := api.PodMove{Pod: m.Pod.Key}
		if m.Pod.From != nil {
			move.From, move.Lost = m.Pod.From.State.Name, m.Pod.State.Owner == "" && !d.x.State.Rules.Off.LostPods
		}
		switch {
		case move.Lost:
		case m.Node != nil:
			move.To = m.Node.State.Name
		default:
			move.To = m.Claim.Hostname
		}
		c.Moves = append(c.Moves, move)
	}
	slices.SortFunc(c.Moves, func(a, b api.PodMove) int { return strings.Compare(a.Pod, b.Pod) })
	return c
}

// launch adds the new nodes of an outcome to a command.
func (d *deciding) launch(c *Command, claims []*simulate.Claim) {
	for _, claim := range claims {
		r := replacement(claim)
		r.Requests = d.x.Amounts(claim.Requests)
		c.Savings.Amount -= r.Price
		c.Replacements = append(c.Replacements, r)
	}
}

func replacement(c *simulate.Claim) Replacement {
	r := Replacement{Pool: c.Pool.Name}
	types := capacity.ByPrice(c.Types, c.Needs)
	for _, m := range types[:min(len(types), maxTypes)] {
		r.InstanceTypes = append(r.InstanceTypes, m.Name)
	}
	for _, m := range types[:min(len(types), api.MaxLaunchTypes)] {
		r.Types = append(r.Types, m.LaunchType(c.Needs))
	}
	if len(types) > 0 {
		r.Price = launchPrice(types[0], c.Needs)
	}
	r.CapacityTypes, r.Zones = finite(c.Needs, api.LabelCapacityType), finite(c.Needs, corev1.LabelTopologyZone)
	for i := range c.Needs {
		n := &c.Needs[i]
		if n.Key == corev1.LabelHostname || n.Key == api.LabelNodePool {
			continue
		}
		r.Requirements = append(r.Requirements, requirementOf(n)...)
	}
	return r
}

// launchPrice is the lowest price of a type within needs; Karpenter counts nothing for a type that nobody sells
// so, which only a replacement can hold whose departures are off.
func launchPrice(m *capacity.Machine, needs capacity.Needs) float64 {
	if !m.Offered(needs) {
		return 0
	}
	return m.Cheapest(needs)
}

func finite(n capacity.Needs, key string) []string {
	if s := n.Get(key); s != nil && !s.Anything {
		return s.Values
	}
	return nil
}

// requirementOf writes a need as requirements of a node.
func requirementOf(n *capacity.Need) []api.NodeRequirement {
	s := &n.Set
	switch {
	case !s.Anything && len(s.Values) == 0:
		return []api.NodeRequirement{{Key: n.Key, Operator: "DoesNotExist"}}
	case !s.Anything:
		return []api.NodeRequirement{{Key: n.Key, Operator: "In", Values: s.Values}}
	}
	var out []api.NodeRequirement
	if len(s.Values) > 0 {
		out = append(out, api.NodeRequirement{Key: n.Key, Operator: "NotIn", Values: s.Values})
	}
	if s.Bounded {
		if s.Above > -1<<62 {
			out = append(out, api.NodeRequirement{Key: n.Key, Operator: "Gt", Values: []string{fmt.Sprint(s.Above)}})
		}
		if s.Below < 1<<62 {
			out = append(out, api.NodeRequirement{Key: n.Key, Operator: "Lt", Values: []string{fmt.Sprint(s.Below)}})
		}
	}
	if len(out) == 0 {
		out = []api.NodeRequirement{{Key: n.Key, Operator: "Exists"}}
	}
	return out
}
