package disruption

import (
	"cmp"
	"slices"
)

// ForeseeStep is ForeseeMember for a member on which Step decides: the commands that it chose and that
// wait to be checked again come first, each with the time at which it begins, and the budgets before are
// those that they spend. Named nodes that go are not explained.
func ForeseeStep(in StepInput, named []string) MemberForecast {
	f := ForeseeMember(StateOf(in), in.Member, named)
	if len(in.Waiting) == 0 || f.Stale != "" {
		return f
	}
	none := in
	none.Waiting = nil
	f.Before = Remaining(StateOf(none))
	f.lead(in.Waiting, &in)
	f.Explanations = slices.DeleteFunc(f.Explanations, func(e Explanation) bool {
		return slices.ContainsFunc(in.Waiting, func(w Waiting) bool { return slices.Contains(w.Command.Nodes, e.Node) })
	})
	return f
}

// lead puts the commands that wait before those that were foreseen after them.
func (f *Forecast) lead(waiting []Waiting, in *StepInput) {
	first := make([]Command, len(waiting), len(waiting)+len(f.Commands))
	for i := range waiting {
		first[i] = waiting[i].Command
		first[i].Begins = waiting[i].Since.Add(cmp.Or(in.Wait, ValidationWait)).UTC()
		f.Savings += first[i].Savings
		for j := range f.Verdicts {
			if v := &f.Verdicts[j]; slices.Contains(first[i].Nodes, v.Node) {
				v.Disrupt, v.Method, v.Refusals = first[i].Reason, first[i].Method, nil
			}
		}
	}
	f.Commands = append(first, f.Commands...)
}
