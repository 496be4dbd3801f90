package disruption

import (
	"fmt"
	"slices"
	"time"

	"flotilla/core/capacity"
	"flotilla/core/simulate"
)

// ValidationWait is how long a chosen command of emptiness or consolidation waits before it is
// checked again and begun.
const ValidationWait = 15 * time.Second

// NeedsValidation reports whether a command waits and is checked again before it begins.
func NeedsValidation(c *Command) bool {
	return c.Method == MethodEmpty || c.Method == MethodMulti || c.Method == MethodSingle
}

// Validate checks a command against a newer state. It returns the command as it may begin now, which
// for emptiness may have fewer nodes; ok is false, with why, when it must be given up.
func Validate(c Command, s *simulate.State) (valid Command, why string, ok bool) {
	if s.Stale != "" {
		return Command{}, "the state is too old: " + s.Stale, false
	}
	d := begin(s)
	if why := d.undecided(); why.Code != "" {
		return Command{}, why.Message, false
	}
	valid, why, ok = d.holds(c)
	if left := d.undecided(); left.Code != "" {
		return Command{}, left.Message, false
	}
	return valid, why, ok
}

// holds checks a command against the state of a pass.
func (d *deciding) holds(c Command) (valid Command, why string, ok bool) {
	filter := func(one *candidate) Refusal { return isConsolidationCandidate(d, one) }
	if c.Method == MethodEmpty {
		filter = func(one *candidate) Refusal { return isEmptyCandidate(d, one) }
	}
	var still []*candidate
	for _, one := range d.candidates(c.Method, filter) {
		if slices.Contains(c.Nodes, one.name()) {
			still = append(still, one)
		}
	}
	if c.Method != MethodEmpty && len(still) < len(c.Nodes) {
		return Command{}, d.lost(c.Nodes, still), false
	}
	dearestFirst(still)
	if c.Method == MethodEmpty {
		afforded := d.sparing(c.Method, c.Reason, still)
		if len(afforded) == 0 {
			return Command{}, d.noneLeft(c.Nodes), false
		}
		out := Command{Method: c.Method, Reason: c.Reason, Nodes: names(afforded)}
		for _, one := range afforded {
			out.Savings = out.Savings.Plus(one.worth())
		}
		return out, "", true
	}
	if afforded := d.spend(c.Method, c.Reason, still, d.allowances(c.Reason)); len(afforded) < len(c.Nodes) {
		return Command{}, "the budgets no longer allow it", false
	}
	return d.again(c, still)
}

// noneLeft says why no node of an emptiness goes.
func (d *deciding) noneLeft(nodes []string) string {
	for _, name := range nodes {
		for _, r := range d.refused[name] {
			if r.Code == CodePendingPodNeedsIt {
				return r.Message
			}
		}
	}
	return "no node of the command is empty and within budget any more"
}

// lost says which node is no candidate any more, and why.
func (d *deciding) lost(wanted []string, still []*candidate) string {
	for _, name := range wanted {
		if slices.ContainsFunc(still, func(c *candidate) bool { return c.name() == name }) {
			continue
		}
		if refusals := d.refused[name]; len(refusals) > 0 {
			return fmt.Sprintf("node %s is no candidate any more: %s", name, refusals[0].Message)
		}
		return fmt.Sprintf("node %s is gone", name)
	}
	return ""
}

// again simulates a consolidation once more: the answer must be of the same kind.
func (d *deciding) again(c Command, cs []*candidate) (Command, string, bool) {
	gone := make([]*simulate.ExistingNode, len(cs))
	for i, one := range cs {
		gone[i] = one.ExistingNode
	}
	out := d.x.Simulate(gone, true)
	switch {
	case len(out.Failed) > 0:
		return Command{}, "not all pods would find a node any more: " + simulate.Failures(out.Failed), false
	case len(out.Homeless) > 0:
		return Command{}, neededText(out.Homeless), false
	case len(out.Claims) != len(c.Replacements):
		return Command{}, fmt.Sprintf("it would take %d new nodes now, not %d", len(out.Claims), len(c.Replacements)), false
	}
	for i, claim := range out.Claims {
		for _, name := range c.Replacements[i].InstanceTypes {
			if !slices.ContainsFunc(claim.Types, func(m *capacity.Machine) bool { return m.Name == name }) {
				return Command{}, fmt.Sprintf("instance type %s no longer fits", name), false
			}
		}
	}
	fresh := d.command(c.Method, c.Reason, cs, out)
	c.Moves = fresh.Moves
	return c, "", true
}
