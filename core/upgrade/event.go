package upgrade

import (
	"fmt"
	"time"

	"flotilla/core/api"
)

// Scopes of events.
const (
	ScopeRun    = "run"
	ScopeStage  = "stage"
	ScopeGroup  = "group"
	ScopeMember = "member"
	ScopeGate   = "gate"
	ScopeWait   = "wait"
)

// events compares the tree with the one that came in, in document order: the run; then each stage,
// its gates before, each group with its gates before, members and gates after; gates after, wait.
func (e *engine) events() []Event {
	d := &differ{at: e.now, run: e.st.Run}
	d.node(ScopeRun, "", &e.was.Status, &e.st.Status, "", errorText(&e.st.Status))
	for i := range e.st.Stages {
		if e.owned[i] {
			d.stage(&e.was.Stages[i], &e.st.Stages[i])
		}
	}
	return append(d.out, e.out.Events...)
}

// differ collects the differences of two trees of one shape.
type differ struct {
	at                 time.Time
	run, inside, group string
	out                []Event
}

func (d *differ) node(scope, name string, was, is *api.UpdateStatus, reason, message string) {
	if was.State == is.State {
		return
	}
	d.out = append(d.out, Event{
		At: d.at, Run: d.run, Stage: d.inside, Group: d.group, Scope: scope, Name: name,
		From: was.State, To: is.State, Reason: reason, Message: message,
	})
}

func (d *differ) stage(was, is *api.StageStatus) {
	d.inside = is.Name
	d.node(ScopeStage, is.Name, &was.Status, &is.Status, "", errorText(&is.Status))
	d.gates(was.BeforeGates, is.BeforeGates, api.TimingBefore)
	for j := range is.Groups {
		before, g := &was.Groups[j], &is.Groups[j]
		d.group = g.Name
		d.node(ScopeGroup, g.Name, &before.Status, &g.Status, "", errorText(&g.Status))
		d.gates(before.BeforeGates, g.BeforeGates, api.TimingBefore)
		for k := range g.Members {
			m := &g.Members[k]
			d.node(ScopeMember, m.Name, &before.Members[k].Status, &m.Status, m.Reason, m.Message)
		}
		d.gates(before.AfterGates, g.AfterGates, api.TimingAfter)
		d.group = ""
	}
	d.gates(was.AfterGates, is.AfterGates, api.TimingAfter)
	if is.Wait != nil {
		message := ""
		if is.Wait.Status.State == api.StateRunning {
			message = "until " + is.Wait.Deadline.UTC().Format(time.RFC3339)
		}
		d.node(ScopeWait, is.Name, &was.Wait.Status, &is.Wait.Status, "", message)
	}
	d.inside = ""
}

func (d *differ) gates(was, is []api.GateStatus, timing string) {
	at := gateScope{stage: d.inside, group: d.group, timing: timing}
	for k := range is {
		message := ""
		if is[k].Status.State == api.StatePending {
			message = gateWaits(&is[k])
		}
		d.node(ScopeGate, at.path(is[k].Type), &was[k].Status, &is[k].Status, "", message)
	}
}

func gateWaits(g *api.GateStatus) string {
	if g.Type == api.GateScheduledStart {
		return "opens at " + g.AbsoluteStartTime.UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("waits for approval, gate %s", g.GateID)
}

func errorText(s *api.UpdateStatus) string {
	if s.Error == nil {
		return ""
	}
	return s.Error.Message
}

// changed reports whether the status differs from what came in.
func (e *engine) changed() bool {
	return len(e.out.Events) > 0 || !sameStatus(e.was, &e.st, e.owned)
}
