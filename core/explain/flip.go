package explain

import (
	"slices"
	"strings"
	"time"

	"flotilla/core/disruption"
	"flotilla/core/simulate"
)

// Bounds of a search for flips: how many decisions it may take, how many changes it puts together, and
// how many commands may go before the node.
const (
	mostTrials  = 100
	mostChanges = 4
	mostBefore  = 4
)

// search looks for what would make a node go, by deciding again.
type search struct {
	state  *simulate.State
	node   string
	trials int
}

// flips returns the changes after which the node goes, each of which suffices; where none does, several
// that do together, as one line. Every line was verified by deciding again.
func flips(s *simulate.State, node string, refusals []disruption.Refusal) []string {
	f := search{state: s, node: node}
	var out []string
	for _, c := range f.alternatives(s, refusals) {
		if goes, later := f.goes([]change{c}); goes {
			out = append(out, c.text+whenLater(later))
		}
	}
	if len(out) > 0 {
		return out
	}
	if line := f.together(refusals); line != "" {
		return []string{line}
	}
	return nil
}

func whenLater(later bool) string {
	if later {
		return " (it goes once others have gone)"
	}
	return ""
}

// goes reports whether the node would be disrupted with changes, and whether that is after others.
func (f *search) goes(changes []change) (goes, later bool) {
	ahead := changed(f.state, changes)
	for pass := range mostBefore {
		if f.trials++; f.trials > mostTrials {
			return false, false
		}
		d := disruption.Decide(ahead)
		for i := range d.Commands {
			if slices.Contains(d.Commands[i].Nodes, f.node) {
				return true, pass > 0
			}
			d.Commands[i].Begun(ahead)
		}
		if len(d.Commands) == 0 {
			break
		}
	}
	return false, false
}

// soon is how near the end of a node must be for waiting to be worth a word.
const soon = 24 * time.Hour

// expiring is to wait until a node expires, where that is soon and makes it go.
func expiring(s *simulate.State, n *simulate.ExistingNode) []string {
	at, ends := disruption.ExpiresAt(n.State, n.Pool)
	if !ends || !at.After(s.Now) || at.Sub(s.Now) > soon {
		return nil
	}
	f := search{state: s, node: n.State.Name}
	wait := until(at, ", when the node expires")
	if goes, later := f.goes([]change{wait}); goes {
		return []string{wait.text + whenLater(later)}
	}
	return nil
}

// together puts changes one on another until the node goes, and leaves out those that are not needed.
func (f *search) together(refusals []disruption.Refusal) string {
	var changes []change
	for range mostChanges {
		ahead := search{state: changed(f.state, changes), node: f.node, trials: f.trials}
		more := ahead.alternatives(ahead.state, refusals)
		f.trials = ahead.trials
		more = slices.DeleteFunc(more, func(c change) bool { return hasText(changes, c.text) })
		if len(more) == 0 {
			return ""
		}
		at := max(0, slices.IndexFunc(more, func(c change) bool { return !c.waits }))
		changes = append(changes, more[at])
		if goes, later := f.goes(changes); goes {
			return f.text(f.needed(changes), later)
		}
		d := disruption.Decide(changed(f.state, changes))
		refusals = d.Verdict(f.node).Refusals
	}
	return ""
}

func (f *search) text(changes []change, later bool) string {
	lines := make([]string, len(changes))
	for i := range changes {
		lines[i] = changes[i].text
	}
	return strings.Join(lines, ", and ") + whenLater(later)
}

// needed leaves out each change without which the node goes too.
func (f *search) needed(changes []change) []change {
	for i := 0; i < len(changes) && len(changes) > 1; {
		fewer := slices.Delete(slices.Clone(changes), i, i+1)
		if goes, _ := f.goes(fewer); goes {
			changes = fewer
			continue
		}
		i++
	}
	return changes
}

func hasText(changes []change, text string) bool {
	return slices.ContainsFunc(changes, func(c change) bool { return c.text == text })
}

// alternatives are the changes that could lift one of some refusals, as they stand in a state.
func (f *search) alternatives(s *simulate.State, refusals []disruption.Refusal) []change {
	var out []change
	for i := range refusals {
		for _, c := range f.lifting(s, &refusals[i]) {
			if !hasText(out, c.text) {
				out = append(out, c)
			}
		}
	}
	return out
}
