package door

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/upgrade"
	"flotilla/subjects"
)

// Reasons of problems of runs that have no code of their own.
const (
	reasonNotTakenUp = "NotTakenUp"
	reasonRunFailed  = "RunFailed"
)

// takeUp is how long the runner may take to notice a run.
const takeUp = time.Minute

// upgradeProblems are what people should look at in runs and profiles, and how many runs there are by
// state.
func (d *Door) upgradeProblems(now time.Time) (problems []api.Problem, runs map[string]int) {
	for _, entry := range d.records.upgrades.specs[api.KindUpdateRun].All() {
		if runs == nil {
			runs = map[string]int{}
		}
		status := d.records.upgrades.status(&entry.Value)
		if status == nil {
			runs[string(api.StateNotStarted)]++
			problems = append(problems, notTakenUp(&entry, now)...)
			continue
		}
		runs[string(status.Status.State)]++
		problems = append(problems, runProblems(status)...)
	}
	for _, entry := range d.records.upgrades.profiles.All() {
		problems = append(problems, d.profileProblems(&entry)...)
	}
	return problems, runs
}

func notTakenUp(entry *bus.Entry[api.Spec], now time.Time) []api.Problem {
	if now.Sub(entry.Value.Created.Time) < takeUp {
		return nil
	}
	return []api.Problem{{
		Object: subjects.KindRun + "/" + entry.Name, Reason: reasonNotTakenUp, Since: entry.Value.Created,
		Message: "the hub has not frozen its members yet", Next: "flotilla describe run " + entry.Name,
	}}
}

// runProblems are those of one run: that it failed, members that failed, gates that wait for somebody,
// and members that wait for what no time is known of.
func runProblems(status *api.UpdateRunStatus) []api.Problem {
	of := func(reason, message string, since metav1.Time, next string) api.Problem {
		return api.Problem{Object: subjects.KindRun + "/" + status.Run, Reason: reason, Message: message, Since: since, Next: next}
	}
	var problems []api.Problem
	show := "flotilla run status " + status.Run
	state := status.Status.State
	if state == api.StateFailed {
		message := fmt.Sprintf("%d of %d members failed", status.FailureCount, status.Members)
		if status.Status.Error != nil {
			message = status.Status.Error.Message
		}
		problems = append(problems, of(reasonRunFailed, message, status.Status.CompletedTime, show))
	}
	if e := status.Status.Error; e != nil && state == api.StateNotStarted {
		return []api.Problem{of(e.Code, e.Message, metav1.Time{}, "flotilla describe run "+status.Run)}
	}
	if state != api.StateFailed && !state.Active() && state != api.StateStopping {
		return nil
	}
	for i := range status.Stages {
		for j := range status.Stages[i].Groups {
			for _, m := range status.Stages[i].Groups[j].Members {
				text := "member " + m.Name + ": " + m.Message
				switch {
				case m.Status.State == api.StateFailed:
					problems = append(problems, of(m.Reason, text, m.Status.CompletedTime, show))
				case stuck(state, &m):
					problems = append(problems, of(m.Reason, text, m.PendingSince, show))
				}
			}
		}
	}
	if !state.Active() {
		return problems
	}
	for _, gate := range upgrade.Gates(status) {
		if gate.Status.State == api.StatePending && gate.Spec.GateType == api.GateApproval {
			problems = append(problems, of(api.ReasonWaitsForGate, gateText(&gate), gate.Status.StartTime,
				"flotilla run approve "+status.Run+" --gate "+gate.Name))
		}
	}
	return problems
}

// stuck reports a member of an active run that waits for something with no time to it.
func stuck(run api.UpdateState, m *api.MemberUpdateStatus) bool {
	return run.Active() && m.Status.State == api.StatePending && m.NextEligibleTime.IsZero()
}

func gateText(gate *api.Gate) string {
	where := "stage " + gate.Spec.Target.Stage
	if gate.Spec.Target.Group != "" {
		where = "group " + gate.Spec.Target.Group + " of " + where
	}
	text := "waits for an approval before " + where
	if gate.Spec.Target.Timing == api.TimingAfter {
		text = "waits for an approval after " + where
	}
	if gate.Spec.DisplayName != "" {
		text += ": " + gate.Spec.DisplayName
	}
	return text
}

func (d *Door) profileProblems(entry *bus.Entry[api.AutoUpgradeProfileStatus]) []api.Problem {
	spec, _, found := d.records.upgrades.specs[api.KindAutoUpgradeProfile].Get(entry.Name)
	if !found || spec.UID != entry.Value.UID || entry.Value.LastTriggerStatus != api.TriggerFailed {
		return nil
	}
	problem := api.Problem{
		Object: subjects.KindProfile + "/" + entry.Name, Reason: "TriggerFailed", Message: entry.Value.LastTriggerMessage,
		Since: entry.Value.LastTriggeredAt, Next: "flotilla describe profile " + entry.Name,
	}
	if e := entry.Value.LastTriggerError; e != nil {
		problem.Reason, problem.Message = e.Code, e.Message
	}
	return []api.Problem{problem}
}
