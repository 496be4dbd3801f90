package plan

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/upgrade"
)

// Run is the expected course of one update run.
type Run struct {
	Name string `json:"name"`
	// State at the end of the timeline: an update state, or Refused.
	State string `json:"state"`
	// ExpectedEnd is null for a run that does not end by itself.
	ExpectedEnd *metav1.Time `json:"expectedEnd"`
	// Events are in order of time, those of one instant in the order of the strategy.
	Events []upgrade.PlanEvent `json:"events"`
	// Members are in order of start; those that never start come last.
	Members []RunMember `json:"members"`
}

// RunMember is the expected course of one member of a run. Start and End are null for a member that
// is not upgraded; Reason says why.
type RunMember struct {
	Name  string `json:"name"`
	Stage string `json:"stage"`
	Group string `json:"group"`
	// WindowClass is 1 open, 2 opening within 4 hours, 3 no window, 4 closed; 0 for a member whose turn
	// does not come.
	WindowClass int             `json:"windowClass"`
	Start       *metav1.Time    `json:"start"`
	End         *metav1.Time    `json:"end"`
	From        string          `json:"from"`
	To          string          `json:"to"`
	State       api.UpdateState `json:"state"`
	Reason      string          `json:"reason"`
	// Expected is how long its upgrade is taken to last and what that rests on: Given, Run, Member, Fleet or
	// Default; null for a member that is not upgraded.
	Expected *upgrade.Expected `json:"expected"`
	// HeldBy is who works on the member now, HeldUntil when that is expected to end, null: nobody knows.
	HeldBy    string       `json:"heldBy,omitempty"`
	HeldUntil *metav1.Time `json:"heldUntil,omitempty"`
}

// RunDetail is what a person reads of a run beside its members.
type RunDetail struct {
	// Kind is that of a staged run of content, empty for an UpdateRun.
	Kind string `json:"kind,omitempty"`
	// Upgrade says what the run is for, "Full to 1.31.2".
	Upgrade string `json:"upgrade"`
	// Refusal says why the run cannot be created or started.
	Refusal *api.Refusal `json:"refusal,omitempty"`
	// WaitsFor says what keeps the run from ending.
	WaitsFor []string `json:"waitsFor,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Now is the time that was planned for.
	Now metav1.Time `json:"now,omitzero"`
	// Local has one entry for each member, in the order of the members: its start on the clock of its schedule,
	// "Sat 02:00 CET"; empty for one without a schedule.
	Local []string `json:"local,omitempty"`
	// Messages has one entry for each member, in the order of the members.
	Messages []string `json:"messages,omitempty"`
}

// buildRuns plans every run by itself against the same fleet at the same moment.
func buildRuns(in *Input) ([]Run, []RunDetail) {
	runs := slices.Clone(in.Runs)
	slices.SortStableFunc(runs, func(a, b upgrade.PlannedRun) int { return cmp.Compare(a.Run.Name, b.Run.Name) })
	planned := upgrade.Plan(runs, in.View, in.Now, in.Assume).Runs
	details := make([]RunDetail, len(planned))
	for i := range planned {
		details[i] = RunDetail{Upgrade: UpgradeText(&runs[i].Run.Spec.Upgrade)}
	}
	contents, ofContents := planContents(in)
	planned, details = append(planned, contents...), append(details, ofContents...)
	out := make([]Run, len(planned))
	for i := range planned {
		p, d := &planned[i], &details[i]
		out[i] = Run{Name: p.Name, State: p.State, ExpectedEnd: p.ExpectedEnd, Events: p.Events, Members: make([]RunMember, len(p.Members))}
		d.Refusal, d.WaitsFor, d.Warnings, d.Now = p.Refusal, p.WaitsFor, p.Warnings, metav1.NewTime(in.Now)
		for j := range p.Members {
			m := &p.Members[j]
			out[i].Members[j] = RunMember{
				Name: m.Name, Stage: m.Stage, Group: m.Group, WindowClass: m.WindowClass, Start: m.Start, End: m.End,
				From: m.From, To: m.To, State: m.State, Reason: m.Reason,
				Expected: m.Expected, HeldBy: m.HeldBy, HeldUntil: m.HeldUntil,
			}
			details[i].Messages = append(details[i].Messages, m.Message)
			details[i].Local = append(details[i].Local, m.Local)
		}
	}
	return out, details
}

// UpgradeText is what an upgrade is for, "Full to 1.31.2", "NodeImageOnly, Latest images".
func UpgradeText(u *api.Upgrade) string {
	if u.Type == api.UpgradeNodeImageOnly {
		return u.Type + ", " + u.Images() + " images"
	}
	return u.Type + " to " + u.KubernetesVersion
}
