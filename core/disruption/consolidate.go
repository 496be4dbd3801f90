package disruption

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"flotilla/core/api"
)

// How many nodes one command may take beyond the first, and how many cheaper types a spot node needs
// to be replaced by a spot node (section 21).
const (
	multiNodeMax = 100
	spotTypes    = 15
	maxTypes     = 600
)

// option is what could be done with a set of candidates.
type option struct {
	ok      bool
	command Command
	claim   *claim
	refusal Refusal
}

func refused(code Code, format string, args ...any) option {
	return option{refusal: Refusal{Code: code, Message: fmt.Sprintf(format, args...)}}
}

// consolidate says whether a set of nodes can be deleted, or replaced by one cheaper node (section 8).
func (d *deciding) consolidate(method string, cs []*candidate) option {
	gone := make([]*inode, len(cs))
	price := 0.0
	for i, c := range cs {
		gone[i] = c.inode
		price += c.price
	}
	d.out.Evaluated++
	out := d.x.simulate(gone, true)
	switch {
	case len(out.failed) > 0:
		return refused(CodePodsUnplaced, "not all pods would find a node: %s", failures(out.failed))
	case len(out.homeless) > 0:
		return option{refusal: neededRefusal(out.homeless)}
	case len(out.claims) == 0:
		return option{ok: true, command: d.command(method, api.ReasonUnderutilized, cs, out)}
	case len(out.claims) > 1:
		return refused(CodeManyReplacements, "the node cannot go without making %d others", len(out.claims))
	}
	c := out.claims[0]
	c.types = byPrice(c.types, c.needs)
	if refusal := d.cheapen(c, cs, price); refusal.Code != "" {
		return option{refusal: refusal}
	}
	return option{ok: true, command: d.command(method, api.ReasonUnderutilized, cs, out), claim: c}
}

func failures(list []failure) string {
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

// cheapen keeps the types of a new node that cost less than what it replaces, and pins it to spot
// where its price assumes that.
func (d *deciding) cheapen(c *claim, cs []*candidate, price float64) Refusal {
	kinds := c.needs.get(api.LabelCapacityType)
	allows := func(kind string) bool { return kinds == nil || kinds.has(kind) }
	allSpot := !slices.ContainsFunc(cs, func(c *candidate) bool { return c.capacityType != api.CapacitySpot })
	if allSpot && allows(api.CapacitySpot) {
		return d.spotToSpot(c, len(cs), price)
	}
	if refusal := keepCheaper(c, price); refusal.Code != "" {
		return refusal
	}
	if allows(api.CapacitySpot) && allows(api.CapacityOnDemand) && (d.x.state.Rules.Off.SpotPin || spotOffered(c)) {
		c.needs = c.needs.with(api.LabelCapacityType, oneValue(api.CapacitySpot))
		if !d.x.state.Rules.Off.SpotPin {
			c.types = slices.DeleteFunc(c.types, func(m *machine) bool { return !m.offered(c.needs) })
		}
	}
	return Refusal{}
}

// spotOffered reports whether some type left can be bought as spot (N6).
func spotOffered(c *claim) bool {
	spot := c.needs.with(api.LabelCapacityType, oneValue(api.CapacitySpot))
	return slices.ContainsFunc(c.types, func(m *machine) bool { return m.offered(spot) })
}

// keepCheaper keeps the types whose worst launch price is below a price.
func keepCheaper(c *claim, price float64) Refusal {
	c.types = slices.DeleteFunc(slices.Clone(c.types), func(m *machine) bool { return m.worstLaunch(c.needs) >= price })
	if key := c.pool.lacks(c.types); key != "" {
		return Refusal{Code: CodeMinValues, Message: "among cheaper types, minValues is not met for label " + key}
	}
	if len(c.types) == 0 {
		return Refusal{Code: CodeNotCheaper, Message: "it cannot be replaced by a cheaper node"}
	}
	return Refusal{}
}

// spotToSpot applies the rules of section 8.1.
func (d *deciding) spotToSpot(c *claim, candidates int, price float64) Refusal {
	if !d.x.state.Rules.SpotToSpot {
		return Refusal{Code: CodeSpotDisabled, Message: "spot-to-spot consolidation is off: a spot node is not replaced by a spot node"}
	}
	c.needs = c.needs.with(api.LabelCapacityType, oneValue(api.CapacitySpot))
	c.types = slices.DeleteFunc(slices.Clone(c.types), func(m *machine) bool { return !m.offered(c.needs) })
	if refusal := keepCheaper(c, price); refusal.Code != "" {
		return refusal
	}
	if candidates > 1 {
		return Refusal{}
	}
	if len(c.types) < spotTypes {
		return Refusal{Code: CodeSpotFew, Message: fmt.Sprintf("replacing spot by spot takes %d cheaper instance types to choose from, there are %d", spotTypes, len(c.types))}
	}
	c.types = c.types[:max(spotTypes, c.pool.fewest(c.types))]
	return Refusal{}
}

// command describes what is to be done. Its moves hold every pod that needs a place: those of the nodes
// that go, pending ones, and those of nodes that are deleting already.
func (d *deciding) command(method, reason string, cs []*candidate, out *outcome) Command {
	c := Command{Method: method, Reason: reason, Nodes: names(cs)}
	for _, one := range cs {
		c.Savings = c.Savings.Plus(one.worth())
	}
	for _, m := range out.moves {
		move := api.PodMove{Pod: m.pod.key}
		if m.pod.from != nil {
			move.From, move.Lost = m.pod.from.state.Name, m.pod.state.Owner == ""
		}
		switch {
		case move.Lost:
		case m.node != nil:
			move.To = m.node.state.Name
		default:
			move.To = m.claim.hostname
		}
		c.Moves = append(c.Moves, move)
	}
	slices.SortFunc(c.Moves, func(a, b api.PodMove) int { return strings.Compare(a.Pod, b.Pod) })
	return c
}

// launch adds the new nodes of an outcome to a command.
func (d *deciding) launch(c *Command, claims []*claim) {
	for _, claim := range claims {
		r := replacement(claim)
		r.requests = d.x.amounts(claim.requests)
		c.Savings.Amount -= r.Price
		c.Replacements = append(c.Replacements, r)
	}
}

func replacement(c *claim) Replacement {
	r := Replacement{Pool: c.pool.name}
	types := byPrice(c.types, c.needs)
	for _, m := range types[:min(len(types), maxTypes)] {
		r.InstanceTypes = append(r.InstanceTypes, m.name)
	}
	for _, m := range types[:min(len(types), api.MaxLaunchTypes)] {
		r.types = append(r.types, m.launchType(c.needs))
	}
	if len(types) > 0 {
		r.Price = types[0].cheapest(c.needs)
	}
	r.CapacityTypes, r.Zones = finite(c.needs, api.LabelCapacityType), finite(c.needs, corev1.LabelTopologyZone)
	for i := range c.needs {
		n := &c.needs[i]
		if n.key == corev1.LabelHostname || n.key == api.LabelNodePool {
			continue
		}
		r.Requirements = append(r.Requirements, requirementOf(n)...)
	}
	return r
}

func finite(n needs, key string) []string {
	if s := n.get(key); s != nil && !s.anything {
		return s.values
	}
	return nil
}

// requirementOf writes a need as requirements of a node.
func requirementOf(n *need) []api.NodeRequirement {
	s := &n.set
	switch {
	case !s.anything && len(s.values) == 0:
		return []api.NodeRequirement{{Key: n.key, Operator: "DoesNotExist"}}
	case !s.anything:
		return []api.NodeRequirement{{Key: n.key, Operator: "In", Values: s.values}}
	}
	var out []api.NodeRequirement
	if len(s.values) > 0 {
		out = append(out, api.NodeRequirement{Key: n.key, Operator: "NotIn", Values: s.values})
	}
	if s.bounded {
		if s.above > -1<<62 {
			out = append(out, api.NodeRequirement{Key: n.key, Operator: "Gt", Values: []string{fmt.Sprint(s.above)}})
		}
		if s.below < 1<<62 {
			out = append(out, api.NodeRequirement{Key: n.key, Operator: "Lt", Values: []string{fmt.Sprint(s.below)}})
		}
	}
	if len(out) == 0 {
		out = []api.NodeRequirement{{Key: n.key, Operator: "Exists"}}
	}
	return out
}
