package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
	"flotilla/core/phrase"
	"flotilla/core/simulate"
)

// Forecast is what would be disrupted now, one command after another, until budgets or reasons end.
type Forecast struct {
	Commands []disruption.Command `json:"commands,omitempty"`
	// Before and After are what is left of the budgets, by reason and pool.
	Before map[string]map[string]capacity.Count `json:"before"`
	After  map[string]map[string]capacity.Count `json:"after"`
	// Verdicts are those of the last pass. Stages are the methods that it tried, Eligible the nodes that each
	// could have taken, before budgets.
	Verdicts []disruption.Verdict `json:"verdicts,omitempty"`
	Stages   []string             `json:"stages,omitempty"`
	Eligible map[string][]string  `json:"eligible,omitempty"`
	// Savings per hour, of all commands.
	Savings api.Hourly `json:"savings"`
	// FleetBudgets is what is left of fleet-wide budgets after them, by name.
	FleetBudgets map[string]int `json:"fleetBudgets,omitempty"`
	// Then says what the forecast waits for where a launch ends it, or that it was to end.
	Then    string    `json:"then,omitempty"`
	Recheck time.Time `json:"recheck,omitzero"`
	Stale   string    `json:"stale,omitempty"`
}

// maxForecast bounds how many passes a forecast looks ahead.
const maxForecast = 1000

// Foresee returns what would begin now. Each command is decided as if those before it had begun and
// were not finished: their nodes count as deleting, their pods still need a place. A command that
// launches nodes ends the forecast, since nothing is decided while a launch is in flight; so do
// so many passes, unless they are 0.
func Foresee(s *simulate.State, passes int) Forecast {
	ahead := s.Ahead()
	f := Forecast{Before: disruption.Remaining(s)}
	going := map[string]*disruption.Command{}
	for pass := range maxForecast {
		d := disruption.Decide(ahead)
		f.Verdicts, f.Stages, f.Eligible, f.Recheck, f.Stale = d.Verdicts, d.Stages, d.Eligible, d.Recheck, d.Stale
		if len(d.Commands) == 0 {
			break
		}
		for i := range d.Commands {
			c := &d.Commands[i]
			part(c)
			f.Commands = append(f.Commands, *c)
			f.Savings = f.Savings.Plus(c.Savings)
			for _, n := range c.Nodes {
				going[n] = c
			}
			c.Begun(ahead)
		}
		if f.Then = launches(d.Commands); f.Then != "" {
			break
		}
		if pass == passes-1 {
			f.Then = fmt.Sprintf("further disruptions are decided when these have begun (--passes %d)", passes)
			break
		}
	}
	for i := range f.Verdicts {
		if c := going[f.Verdicts[i].Node]; c != nil && f.Verdicts[i].Disrupt == "" {
			goes(&f.Verdicts[i], c)
		}
	}
	f.After, f.FleetBudgets = disruption.Remaining(ahead), ahead.FleetAllowed
	return f
}

// part tells the moves of a command's own pods, and of those that wait, from the moves of pods whose nodes
// go already.
func part(c *disruption.Command) {
	var own, others []api.PodMove
	for _, m := range c.Moves {
		if m.From == "" || slices.Contains(c.Nodes, m.From) {
			own = append(own, m)
		} else {
			others = append(others, m)
		}
	}
	c.Moves, c.Beside = own, others
}

// launches says what is waited for once commands begin that launch nodes, "" when none does.
func launches(commands []disruption.Command) string {
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
		fmt.Fprintf(&b, "saves %s in all\n", f.Savings.Sentence())
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
		change := f.Before[reason][pool].String() + " -> " + f.After[reason][pool].String()
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
		fmt.Fprintf(b, "  %s: %s\n", phrase.Names(nodes[why], disruption.ShownNames), why)
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
func goes(v *disruption.Verdict, c *disruption.Command) {
	v.Disrupt, v.Method, v.Refusals, v.Lasting = c.Reason, c.Method, nil, nil
}
