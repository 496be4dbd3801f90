package whatif

import (
	"cmp"
	"slices"

	"flotilla/core/api"
)

// runs says what runs that have not ended would do with members that leave.
func (b *builder) runs() {
	for i := range b.in.Runs {
		r := &b.in.Runs[i]
		if r.Status.State.Terminal() {
			continue
		}
		run := Run{Name: r.Run, State: string(r.Status.State), Skipped: []string{}, Awaited: []string{}}
		if r.Content != nil {
			run.Placement = r.Content.Placement
		}
		for s := range r.Stages {
			for g := range r.Stages[s].Groups {
				b.hold(&run, r.Stages[s].Groups[g].Members)
			}
		}
		if len(run.Skipped)+len(run.Awaited) > 0 {
			slices.Sort(run.Skipped)
			slices.Sort(run.Awaited)
			b.answer.Runs = append(b.answer.Runs, run)
		}
	}
	slices.SortFunc(b.answer.Runs, func(a, c Run) int { return cmp.Compare(a.Name, c.Name) })
}

// hold adds the members that leave and that the run is not done with. An upgrade that runs on one is waited for; content is
// not.
func (b *builder) hold(run *Run, members []api.MemberUpdateStatus) {
	for i := range members {
		m := &members[i]
		switch {
		case b.leavers[m.Name] == nil || m.Status.State.Terminal():
		case run.Placement != "" || m.Status.State != api.StateRunning:
			run.Skipped = append(run.Skipped, m.Name)
		default:
			run.Awaited = append(run.Awaited, m.Name)
		}
	}
}
