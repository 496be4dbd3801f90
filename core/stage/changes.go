package stage

import (
	"fmt"
	"slices"
	"time"

	"flotilla/core/api"
)

// events tells what a step changed, causes before effects: that the run begins; whom it leaves out; what was noted of members;
// members, gates and waits that were under way and are no longer; then the rest in document order, where what
// begins or stops is told before what is in it, and what ends, or comes to wait, after.
func (r *Run) events() []Event {
	d := &differ{at: r.Now, run: r.Status.Run}
	d.around(ScopeRun, "", &r.was.Status, &r.Status.Status, func() {
		for i := range r.Status.Stages {
			if r.owned[i] {
				d.stage(&r.was.Stages[i], &r.Status.Stages[i])
			}
		}
	})
	return slices.Concat(d.begun, LeftOutEvents(r.was, &r.Status, r.Now), r.noted, d.ended, d.rest)
}

// note tells of a member that stays in the state it is in.
func (r *Run) note(stage, group string, m *api.MemberUpdateStatus, reason, message string) {
	state := m.Status.State
	r.noted = append(r.noted, Event{
		At: r.Now, Run: r.Status.Run, Stage: stage, Group: group, Scope: ScopeMember, Name: m.Name,
		From: state, To: state, Reason: reason, Message: message,
	})
}

// differ collects the differences of two trees of one shape.
type differ struct {
	at                 time.Time
	run, inside, group string
	begun              []Event // of the run
	ended              []Event // of what was under way
	rest               []Event
}

func (d *differ) event(scope, name string, was, is *api.UpdateStatus, reason, message string) Event {
	return Event{
		At: d.at, Run: d.run, Stage: d.inside, Group: d.group, Scope: scope, Name: name,
		From: was.State, To: is.State, Reason: reason, Message: message,
	}
}

// around tells of the run, a stage or a group, and of what is in it.
func (d *differ) around(scope, name string, was, is *api.UpdateStatus, inner func()) {
	if was.State == is.State {
		inner()
		return
	}
	e := d.event(scope, name, was, is, "", errorText(is))
	switch {
	case follows(&e):
		inner()
		d.rest = append(d.rest, e)
	case scope == ScopeRun && !e.From.Active() && e.From != api.StateStopping:
		d.begun = append(d.begun, e)
		inner()
	default:
		d.rest = append(d.rest, e)
		inner()
	}
}

// follows reports whether a change of a run, stage or group comes of what is in it.
func follows(e *Event) bool {
	return e.To.Terminal() || e.To == api.StateStopped || e.From == api.StateRunning && e.To == api.StatePending
}

// leaf tells of a member, a gate or a wait.
func (d *differ) leaf(scope, name string, was, is *api.UpdateStatus, reason, message string) {
	if was.State == is.State {
		return
	}
	e := d.event(scope, name, was, is, reason, message)
	if underWay(&e) {
		d.ended = append(d.ended, e)
	} else {
		d.rest = append(d.rest, e)
	}
}

// underWay reports whether what ends is an upgrade, a gate that was waited for or a wait.
func underWay(e *Event) bool {
	return e.From == api.StateRunning || e.Scope == ScopeGate && e.From == api.StatePending && e.To.Done()
}

func (d *differ) stage(was, is *api.StageStatus) {
	d.inside = is.Name
	d.around(ScopeStage, is.Name, &was.Status, &is.Status, func() {
		d.gates(was.BeforeGates, is.BeforeGates, api.TimingBefore)
		for j := range is.Groups {
			d.groupIn(&was.Groups[j], &is.Groups[j])
		}
		d.gates(was.AfterGates, is.AfterGates, api.TimingAfter)
		if is.Wait != nil {
			d.wait(was.Wait, is)
		}
	})
	d.inside = ""
}

func (d *differ) groupIn(was, is *api.GroupStatus) {
	d.group = is.Name
	d.around(ScopeGroup, is.Name, &was.Status, &is.Status, func() {
		d.gates(was.BeforeGates, is.BeforeGates, api.TimingBefore)
		for k := range is.Members {
			m := &is.Members[k]
			d.leaf(ScopeMember, m.Name, &was.Members[k].Status, &m.Status, m.Reason, m.Message)
		}
		d.gates(was.AfterGates, is.AfterGates, api.TimingAfter)
	})
	d.group = ""
}

func (d *differ) wait(was *api.WaitStatus, stage *api.StageStatus) {
	message := ""
	if stage.Wait.Status.State == api.StateRunning {
		message = "until " + stage.Wait.Deadline.UTC().Format(time.RFC3339)
	}
	d.leaf(ScopeWait, stage.Name, &was.Status, &stage.Wait.Status, "", message)
}

func (d *differ) gates(was, is []api.GateStatus, timing string) {
	at := GateScope{stage: d.inside, group: d.group, timing: timing}
	for k := range is {
		message := ""
		if is[k].Status.State == api.StatePending {
			message = gateWaits(&is[k])
		}
		d.leaf(ScopeGate, at.Path(is[k].Type), &was[k].Status, &is[k].Status, "", message)
	}
}

func gateWaits(g *api.GateStatus) string {
	if g.Type == api.GateScheduledStart {
		return "opens at " + g.AbsoluteStartTime.UTC().Format(time.RFC3339)
	}
	if g.Type == api.GateCheck {
		return "waits for " + g.DisplayName
	}
	return fmt.Sprintf("waits for approval, gate %s", g.GateID)
}

func errorText(s *api.UpdateStatus) string {
	if s.Error == nil {
		return ""
	}
	return s.Error.Message
}
