package disruption

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/phrase"
	"flotilla/core/simulate"
)

// Forecast is what would be disrupted now, one command after another, until budgets or reasons end.
type Forecast struct {
	Commands []Command `json:"commands,omitempty"`
	// Before and After are what is left of the budgets, by reason and pool.
	Before map[string]map[string]capacity.Count `json:"before"`
	After  map[string]map[string]capacity.Count `json:"after"`
	// Verdicts are those of the last pass. Stages are the methods that it tried, Eligible the nodes that each
	// could have taken, before budgets.
	Verdicts []Verdict           `json:"verdicts,omitempty"`
	Stages   []string            `json:"stages,omitempty"`
	Eligible map[string][]string `json:"eligible,omitempty"`
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
	f := Forecast{Before: Remaining(s)}
	going := map[string]*Command{}
	for pass := range maxForecast {
		d := Decide(ahead)
		f.Verdicts, f.Stages, f.Eligible, f.Recheck, f.Stale = d.Verdicts, d.Stages, d.Eligible, d.Recheck, d.Stale
		if len(d.Commands) == 0 {
			break
		}
		for i := range d.Commands {
			c := &d.Commands[i]
			c.part()
			f.Commands = append(f.Commands, *c)
			f.Savings = f.Savings.Plus(c.Savings)
			for _, n := range c.Nodes {
				going[n] = c
			}
			begun(ahead, c)
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
			f.Verdicts[i].goes(c)
		}
	}
	f.After, f.FleetBudgets = Remaining(ahead), ahead.FleetAllowed
	return f
}

// part tells the moves of a command's own pods, and of those that wait, from the moves of pods whose nodes
// go already.
func (c *Command) part() {
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

// Remaining is how many nodes may be disrupted beyond those that are, by reason and pool.
func Remaining(s *simulate.State) map[string]map[string]capacity.Count {
	d := begin(s)
	for _, reason := range api.DisruptionReasons {
		d.allowances(reason)
	}
	return d.out.Budgets
}

// String is the command as a person reads it: the nodes, the replacement, the way of every pod.
func (c Command) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s, saves %s", c.Decision(), strings.Join(c.Nodes, ", "), c.why(), c.Savings.Sentence())
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
	killed := c.killedPods()
	for i := range c.Moves {
		if m := &c.Moves[i]; !slices.Contains(killed, m.Pod) {
			fmt.Fprintf(&b, "  %s: %s -> %s\n", m.Pod, cmp.Or(m.From, "pending"), m.Where())
		}
	}
	for i := range c.Killed {
		k := &c.Killed[i]
		fmt.Fprintf(&b, "  %s: %s -> killed %s -> %s\n    %s\n", k.Pod, k.From, c.killedWhen(k), k.Where(), k.Message)
	}
	return b.String()
}

// warnings say what a command destroys.
func (c *Command) warnings() []string {
	killed := c.killedPods()
	var lost []string
	for i := range c.Moves {
		if m := &c.Moves[i]; m.Lost && !slices.Contains(killed, m.Pod) {
			lost = append(lost, m.Pod)
		}
	}
	for i := range c.Killed {
		if c.Killed[i].Lost {
			lost = append(lost, c.Killed[i].Pod)
		}
	}
	with := " with " + phrase.Names(c.Nodes, shownNames)
	return append(lostPods(lost, with), killedNote(killed, with)...)
}

// lostPods says of pods that have no controller that they are lost, nothing of none.
func lostPods(pods []string, how string) []string {
	switch len(pods) {
	case 0:
		return nil
	case 1:
		return []string{fmt.Sprintf("pod %s is lost%s: it has no controller, and nothing makes it again", pods[0], how)}
	}
	return []string{fmt.Sprintf("%d pods are lost%s: they have no controller, and nothing makes them again: %s", len(pods), how, phrase.Names(pods, shownNames))}
}

// uncontrolled are the pods of a node that would be lost with it.
func uncontrolled(n *simulate.ExistingNode) []string {
	var pods []string
	for i := range n.Pods {
		if p := &n.Pods[i]; p.Movable && p.State.Owner == "" {
			pods = append(pods, p.Key)
		}
	}
	return pods
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
		fmt.Fprintf(b, "  %s: %s\n", phrase.Names(nodes[why], shownNames), why)
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
	text := "no method takes it"
	switch r := v.now(); {
	case v.Lasting != nil:
		text = v.Lasting.String() + "; and " + r.String()
	case r.Code != "":
		text = r.String()
	}
	if v.Drift != "" {
		text += "; it has drifted: " + v.Drift
	}
	return text
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
	if v.Drift != "" {
		if i := slices.IndexFunc(v.Refusals, Refusal.aboutDrift); i >= 0 {
			return v.Refusals[i]
		}
	}
	for _, r := range slices.Backward(v.Refusals) {
		switch {
		case r.Code == CodeNotDrifted, r.Code == CodeNotExpired, r.Code == CodeEmpty, r.Code == CodeStatic, r.Code == CodeNotEmpty && r.Method == MethodEmpty:
		default:
			return r
		}
	}
	switch i := slices.IndexFunc(v.Refusals, func(r Refusal) bool { return r.Code == CodeStatic }); {
	case i >= 0:
		return v.Refusals[i]
	case len(v.Refusals) > 0: // a command of the pass came before any method that could take it
		return notReached
	}
	return Refusal{}
}
