package health

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/stage"
)

// takeUp is how long the runner may take to notice a run.
const takeUp = time.Minute

// NotTakenUp returns the problem of a run that the runner has not noticed for a while.
func NotTakenUp(run string, created metav1.Time, now time.Time) []api.Problem {
	if now.Sub(created.Time) < takeUp {
		return nil
	}
	return []api.Problem{{
		Object: api.AuditObject(api.AuditRun, run), Reason: ReasonNotTakenUp, Since: created,
		Message: "the hub has not frozen its members yet", Next: "flotilla describe run " + run,
	}}
}

// Run returns the problems of an update run: that it cannot be created or failed, members that failed, members
// that wait for what no time is known of, and gates that wait for somebody.
func Run(status *api.UpdateRunStatus) []api.Problem {
	p := problemsOf{status: status}
	switch state := status.Status.State; {
	case state == api.StateNotStarted && status.Status.Error != nil:
		p.add(status.Status.Error.Code, status.Status.Error.Message, metav1.Time{})
	case state == api.StateFailed:
		p.failed()
		p.members()
	case state.Active(), state == api.StateStopping:
		p.members()
		p.gates()
	}
	return p.found
}

// problemsOf collects the problems of a run.
type problemsOf struct {
	status *api.UpdateRunStatus
	found  []api.Problem
}

func (p *problemsOf) add(reason, message string, since metav1.Time) {
	p.found = append(p.found, api.Problem{
		Object: api.AuditObject(api.AuditRun, p.status.Run), Reason: reason, Message: message, Since: since,
		Next: "flotilla run status " + p.status.Run,
	})
}

func (p *problemsOf) failed() {
	message := fmt.Sprintf("%d of %d members failed", p.status.FailureCount, p.status.Members)
	if p.status.Status.Error != nil {
		message = p.status.Status.Error.Message
	}
	p.add(ReasonRunFailed, message, p.status.Status.CompletedTime)
}

func (p *problemsOf) members() {
	for i := range p.status.Stages {
		for j := range p.status.Stages[i].Groups {
			for _, m := range p.status.Stages[i].Groups[j].Members {
				switch text := "member " + m.Name + ": " + m.Message; {
				case m.Status.State == api.StateFailed:
					p.add(m.Reason, text, m.Status.CompletedTime)
				case stuck(p.status.Status.State, &m):
					p.add(m.Reason, text, m.PendingSince)
				}
			}
		}
	}
}

func (p *problemsOf) gates() {
	if !p.status.Status.State.Active() {
		return
	}
	for _, gate := range stage.Gates(p.status) {
		if gate.Status.State == api.StatePending && gate.Spec.GateType == api.GateApproval {
			p.add(api.ReasonWaitsForGate, gateText(&gate), gate.Status.StartTime)
			p.found[len(p.found)-1].Next = "flotilla run approve " + p.status.Run + " --gate " + gate.Name
		}
	}
}

// stuck reports a member of an active run that waits for something with no time to it, or is told to be stuck.
func stuck(run api.UpdateState, m *api.MemberUpdateStatus) bool {
	return run.Active() && (m.Status.State == api.StatePending && m.NextEligibleTime.IsZero() || m.Reason == api.ReasonUpdateRunStuck)
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

// Profile returns the problem of an auto-upgrade profile whose last trigger failed.
func Profile(name string, status *api.AutoUpgradeProfileStatus) []api.Problem {
	if status.LastTriggerStatus != api.TriggerFailed {
		return nil
	}
	problem := api.Problem{
		Object: api.AuditObject(api.AuditProfile, name), Reason: "TriggerFailed", Message: status.LastTriggerMessage,
		Since: status.LastTriggeredAt, Next: "flotilla describe profile " + name,
	}
	if e := status.LastTriggerError; e != nil {
		problem.Reason, problem.Message = e.Code, e.Message
	}
	return []api.Problem{problem}
}
