package explain

import (
	"cmp"
	"slices"

	"flotilla/core/disruption"
	"flotilla/core/orchestration"
	"flotilla/core/simulate"
)

// ForeseeStep is ForeseeMember for a member on which Step decides: the commands that it chose and that
// wait to be checked again come first, each with the time at which it begins, and the budgets before are
// those that they spend. A named node that one of them takes is explained as if it were not chosen yet.
func ForeseeStep(in orchestration.StepInput, named []string, passes int) MemberForecast {
	f := ForeseeMember(orchestration.StateOf(in), in.Member, named, passes)
	if len(in.Waiting) == 0 || f.Stale != "" {
		return f
	}
	none := in
	none.Waiting = nil
	before := orchestration.StateOf(none)
	f.Before = disruption.Remaining(before)
	f.lead(in.Waiting, &in)
	for i := range in.Waiting {
		f.Notes = append(f.Notes, in.Waiting[i].Command.Warnings()...)
	}
	for i := range in.Waiting {
		f.explainAgain(before, &f.Commands[i])
	}
	return f
}

// explainAgain explains the named nodes that a command takes as things were before it was chosen.
func (f *MemberForecast) explainAgain(before *simulate.State, c *disruption.Command) {
	for i := range f.Explanations {
		if e := &f.Explanations[i]; slices.Contains(c.Nodes, e.Node) {
			if *e, _ = Explain(before, e.Node); e.Disrupt != "" {
				e.Command = c
			}
		}
	}
}

// lead puts the commands that wait before those that were foreseen after them.
func (f *Forecast) lead(waiting []orchestration.Waiting, in *orchestration.StepInput) {
	first := make([]disruption.Command, len(waiting), len(waiting)+len(f.Commands))
	for i := range waiting {
		first[i] = waiting[i].Command
		first[i].Begins = waiting[i].Since.Add(cmp.Or(in.Wait, disruption.ValidationWait)).UTC()
		f.Savings = f.Savings.Plus(first[i].Savings)
		for j := range f.Verdicts {
			if v := &f.Verdicts[j]; slices.Contains(first[i].Nodes, v.Node) {
				goes(v, &first[i])
			}
		}
	}
	f.Commands = append(first, f.Commands...)
}
