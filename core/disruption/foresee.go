package disruption

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
)

// Forecast is what would be disrupted now, one command after another, until budgets or reasons end.
type Forecast struct {
	Commands []Command `json:"commands,omitempty"`
	// Before and After are what is left of the budgets, by reason and pool.
	Before map[string]map[string]int `json:"before"`
	After  map[string]map[string]int `json:"after"`
	// Verdicts are those after the last command.
	Verdicts []Verdict `json:"verdicts,omitempty"`
	// Savings per hour, of all commands.
	Savings float64 `json:"savings"`
	// FleetBudgets is what is left of fleet-wide budgets after them, by name.
	FleetBudgets map[string]int `json:"fleetBudgets,omitempty"`
	// Then says what the forecast waits for where a launch ends it.
	Then    string    `json:"then,omitempty"`
	Recheck time.Time `json:"recheck,omitzero"`
	Stale   string    `json:"stale,omitempty"`
}

// maxForecast bounds how many commands a forecast looks ahead.
const maxForecast = 1000

// Foresee returns what would begin now. Each command is decided as if those before it had begun and
// were not finished: their nodes count as deleting, their pods still need a place. A command that
// launches nodes ends the forecast, since nothing is decided while a launch is in flight.
func Foresee(s *State) Forecast {
	ahead := s.ahead()
	f := Forecast{Before: Remaining(s)}
	going := map[string]*Command{}
	for range maxForecast {
		d := Decide(ahead)
		f.Verdicts, f.Recheck, f.Stale = d.Verdicts, d.Recheck, d.Stale
		if len(d.Commands) == 0 {
			break
		}
		for i := range d.Commands {
			c := &d.Commands[i]
			c.Moves = slices.DeleteFunc(c.Moves, func(m api.PodMove) bool { return m.From != "" && !slices.Contains(c.Nodes, m.From) })
			f.Commands = append(f.Commands, *c)
			f.Savings += c.Savings
			for _, n := range c.Nodes {
				going[n] = c
			}
			ahead.take(c)
		}
		if f.Then = launches(d.Commands); f.Then != "" {
			break
		}
	}
	for i := range f.Verdicts {
		if c := going[f.Verdicts[i].Node]; c != nil {
			f.Verdicts[i].goes(c)
		}
	}
	f.After, f.FleetBudgets = Remaining(ahead), ahead.FleetAllowed
	return f
}

// launches says what is waited for once commands begin that launch nodes, "" when none does.
func launches(commands []Command) string {
	launched := 0
	for i := range commands {
		launched += len(commands[i].Replacements)
	}
	switch launched {
	case 0:
		return ""
	case 1:
		return "further disruptions are decided when new-0 is ready"
	default:
		return fmt.Sprintf("further disruptions are decided when the %d new nodes are ready", launched)
	}
}

// spendFleet takes nodes off what is left of the fleet-wide budgets of their pools.
func (s *State) spendFleet(nodes []string) {
	for _, name := range nodes {
		i := slices.IndexFunc(s.Pools, func(p *Pool) bool { return p.name == s.Cluster.nodes[name].pool })
		if i < 0 {
			continue
		}
		if fleet := s.Pools[i].fleet; s.FleetAllowed[fleet] > 0 {
			s.FleetAllowed[fleet]--
		}
	}
}

// Remaining is how many nodes may be disrupted beyond those that are, by reason and pool; Unbounded
// for no limit.
func Remaining(s *State) map[string]map[string]int {
	d := begin(s)
	for _, reason := range api.DisruptionReasons {
		d.allowances(reason)
	}
	return d.out.Budgets
}

// String is the command as a person reads it: the nodes, the replacement, the way of every pod.
func (c Command) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s, saves %.4f an hour", c.Decision(), strings.Join(c.Nodes, ", "), c.why(), c.Savings)
	if !c.Begins.IsZero() {
		fmt.Fprintf(&b, ", begins at %s if it still holds then", c.Begins.Format(time.RFC3339))
	}
	b.WriteByte('\n')
	for i, r := range c.Replacements {
		fmt.Fprintf(&b, "  new-%d: pool %s, %s", i, r.Pool, strings.Join(r.InstanceTypes[:min(len(r.InstanceTypes), 5)], " or "))
		if more := len(r.InstanceTypes) - 5; more > 0 {
			fmt.Fprintf(&b, " or %d more", more)
		}
		for _, restricted := range [][]string{r.CapacityTypes, r.Zones} {
			if len(restricted) > 0 {
				fmt.Fprintf(&b, ", %s", strings.Join(restricted, " or "))
			}
		}
		fmt.Fprintf(&b, ", from %.4f an hour\n", r.Price)
	}
	for _, m := range c.Moves {
		from := m.From
		if from == "" {
			from = "pending"
		}
		fmt.Fprintf(&b, "  %s: %s -> %s\n", m.Pod, from, m.To)
	}
	return b.String()
}

func (c *Command) why() string {
	text := c.Reason
	if c.Drift != "" {
		text += " " + c.Drift
	}
	if c.Forceful {
		text += ", forceful: no replacement first, budgets do not count"
	}
	return text + " (" + c.Method + ")"
}

// String is the forecast as a person reads it.
func (f Forecast) String() string {
	var b strings.Builder
	if f.Stale != "" {
		fmt.Fprintf(&b, "nothing is decided: %s\n", f.Stale)
		return b.String()
	}
	if len(f.Commands) == 0 {
		b.WriteString("nothing to disrupt now\n")
	}
	for _, c := range f.Commands {
		b.WriteString(c.String())
	}
	if len(f.Commands) > 0 {
		fmt.Fprintf(&b, "saves %.4f an hour in all\n", f.Savings)
	}
	if f.Then != "" {
		fmt.Fprintf(&b, "%s\n", f.Then)
	}
	if len(f.poolNames()) > 0 {
		b.WriteString("\nbudgets, before and after:\n")
	}
	for _, pool := range f.poolNames() {
		f.writeBudgets(&b, pool)
	}
	f.writeStaying(&b)
	return b.String()
}

// writeBudgets tells what a pool's budgets leave, reasons that are alike in one line.
func (f *Forecast) writeBudgets(b *strings.Builder, pool string) {
	var changes []string
	reasons := map[string][]string{}
	for _, reason := range api.DisruptionReasons {
		change := limitText(f.Before[reason][pool]) + " -> " + limitText(f.After[reason][pool])
		if reasons[change] == nil {
			changes = append(changes, change)
		}
		reasons[change] = append(reasons[change], reason)
	}
	for _, change := range changes {
		fmt.Fprintf(b, "  %s (%s): %s\n", pool, reasonsText(reasons[change]), change)
	}
}

// reasonsText names reasons of budgets, all of them as "any reason".
func reasonsText(reasons []string) string {
	if len(reasons) == len(api.DisruptionReasons) {
		return "any reason"
	}
	return strings.Join(reasons, ", ")
}

// writeStaying tells why nodes stay, those with one reason together.
func (f *Forecast) writeStaying(b *strings.Builder) {
	var order []string
	nodes := map[string][]string{}
	for _, v := range f.Verdicts {
		if v.Disrupt != "" {
			continue
		}
		why := v.Why()
		if nodes[why] == nil {
			order = append(order, why)
		}
		nodes[why] = append(nodes[why], v.Node)
	}
	if len(order) > 0 {
		b.WriteString("\nnodes that stay:\n")
	}
	for _, why := range order {
		fmt.Fprintf(b, "  %s: %s\n", listed(nodes[why]), why)
	}
}

func (f *Forecast) poolNames() []string {
	names := map[string]bool{}
	for _, pools := range f.Before {
		for name := range pools {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// goes makes a verdict one of a node that a command takes.
func (v *Verdict) goes(c *Command) {
	v.Disrupt, v.Method, v.Refusals, v.Lasting = c.Reason, c.Method, nil, nil
}

// Why is the reason that a person would want to hear of a node that stays: the one that lasts, with what
// keeps the node for a moment beside it, else that of the last method that had something to say about it
// beyond what it is not.
func (v Verdict) Why() string {
	switch r := v.now(); {
	case v.Lasting != nil:
		return v.Lasting.String() + "; and " + r.String()
	case r.Code != "":
		return r.String()
	}
	return "no method takes it"
}

// Code is that of the reason which Why begins with, "" for a node that goes.
func (v Verdict) Code() Code {
	if v.Disrupt != "" {
		return ""
	}
	return v.why().Code
}

// why is the reason that lasts, else the one of now.
func (v *Verdict) why() Refusal {
	if v.Lasting != nil {
		return *v.Lasting
	}
	return v.now()
}

func (v *Verdict) now() Refusal {
	for _, r := range slices.Backward(v.Refusals) {
		switch {
		case r.Code == CodeNotDrifted, r.Code == CodeNotExpired, r.Code == CodeEmpty, r.Code == CodeStatic, r.Code == CodeNotEmpty && r.Method == MethodEmpty:
		default:
			return r
		}
	}
	if len(v.Refusals) > 0 {
		return v.Refusals[0]
	}
	return Refusal{}
}
