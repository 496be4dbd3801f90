package upgrade

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/version"
)

// View is what a step sees besides the run: the fleet, the catalog (nil: none), results of this run's
// operations by operation id, and who holds the locks of members, by member, in words for people.
// Locks this run holds itself are not in it.
type View struct {
	Fleet   *Fleet
	Catalog *version.Catalog
	Results map[string]api.UpgradeResult
	Locks   map[string]string
}

// Lock is one lock of a member to take, or to give back, under an operation id.
type Lock struct {
	Member    string
	Operation string
}

// Decision is what should happen to a run now. The caller gives back the locks of Release, each only
// while it still carries that operation, which has ended or was given up; takes those of Take, all of
// them or the decision is dropped; writes Status in one conditional write; then publishes Events.
// Commands derive from the written status, see Operations.
type Decision struct {
	Status  api.UpdateRunStatus
	Changed bool // Status differs from what came in
	Noop    bool // the operation asked for what is already so
	Release []Lock
	Take    []Lock
	Events  []Event
	// Recheck is when the step should be asked again without any other cause; zero: never.
	Recheck time.Time
}

// Event is one change of state in the tree of a run.
type Event struct {
	At    time.Time `json:"at"`
	Run   string    `json:"run"`
	Stage string    `json:"stage,omitempty"`
	Group string    `json:"group,omitempty"`
	// Scope is run, stage, group, member, gate or wait; Name that of the node: of a gate its path, of a
	// wait its stage, of the run empty.
	Scope   string          `json:"scope"`
	Name    string          `json:"name"`
	From    api.UpdateState `json:"from"`
	To      api.UpdateState `json:"to"`
	Reason  string          `json:"reason,omitempty"`
	Message string          `json:"message,omitempty"`
}

// Audit returns the event as the audit stream keeps it.
func (e Event) Audit(by string) api.Audit {
	a := api.Audit{
		Header: api.NewHeader(api.KindAudit), At: metav1.NewTime(e.At), Object: api.AuditObject(api.AuditRun, e.Run), Type: "Normal",
		Reason: string(e.To), Message: cut(e.String(), auditMessage), By: by,
	}
	if e.Reason != "" {
		a.Reason = e.Reason
	}
	if e.To == api.StateFailed {
		a.Type = "Warning"
	}
	if e.Scope == ScopeMember {
		a.Member = e.Name
	}
	return a
}

// auditMessage is the most of a message that an audit record of at most 1 KiB has room for, in bytes.
const auditMessage = 600

// cut shortens a text to a number of bytes without breaking a letter.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}

// String is the event on one line, "member a1 NotStarted -> Running: control plane 1.29.2 to 1.29.9".
func (e Event) String() string {
	what := e.Scope
	if e.Name != "" {
		what += " " + e.Name
	}
	text := fmt.Sprintf("%s %s -> %s", what, e.From, e.To)
	if e.Reason != "" {
		text += " (" + e.Reason + ")"
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// LockGrace is how long after the last heartbeat of a silent agent its lock is kept (A56).
const LockGrace = 10 * time.Minute

// PreflightRetry is how long a member that its preflight blocked waits for the next attempt.
const PreflightRetry = 5 * time.Minute

// Step decides what happens to a run at an instant: results are recorded, waits and gates whose time
// has come open, and members start as far as stages, groups, gates, rules and windows allow.
func Step(run *api.UpdateRun, status *api.UpdateRunStatus, view View, now time.Time) Decision {
	e := newEngine(run, status, view, now)
	e.proceed()
	return e.finish()
}

// engine is one step in progress: a status that is copied where it changes.
type engine struct {
	run   *api.UpdateRun
	was   *api.UpdateRunStatus
	st    api.UpdateRunStatus
	owned []bool // stages whose groups and members were copied
	view  View
	now   time.Time
	goal  goal
	out   Decision
}

func newEngine(run *api.UpdateRun, status *api.UpdateRunStatus, view View, now time.Time) *engine {
	e := &engine{run: run, was: status, st: *status, view: view, now: now.UTC().Truncate(time.Second)}
	e.st.Stages = append([]api.StageStatus(nil), status.Stages...)
	e.owned = make([]bool, len(e.st.Stages))
	e.goal = newGoal(run, &e.st)
	return e
}

// own copies the tree under a stage, once, so that it may be changed.
func (e *engine) own(i int) *api.StageStatus {
	s := &e.st.Stages[i]
	if e.owned[i] {
		return s
	}
	e.owned[i] = true
	s.Groups = append([]api.GroupStatus(nil), s.Groups...)
	s.BeforeGates = append([]api.GateStatus(nil), s.BeforeGates...)
	s.AfterGates = append([]api.GateStatus(nil), s.AfterGates...)
	if s.Wait != nil {
		w := *s.Wait
		s.Wait = &w
	}
	for j := range s.Groups {
		g := &s.Groups[j]
		g.Members = append([]api.MemberUpdateStatus(nil), g.Members...)
		g.BeforeGates = append([]api.GateStatus(nil), g.BeforeGates...)
		g.AfterGates = append([]api.GateStatus(nil), g.AfterGates...)
	}
	return s
}

// each calls f for every member, for reading.
func (e *engine) each(f func(*api.MemberUpdateStatus)) {
	for i := range e.st.Stages {
		eachMember(&e.st.Stages[i], f)
	}
}

func eachMember(s *api.StageStatus, f func(*api.MemberUpdateStatus)) {
	for j := range s.Groups {
		for k := range s.Groups[j].Members {
			f(&s.Groups[j].Members[k])
		}
	}
}

// proceed is the part of a step that every cause shares.
func (e *engine) proceed() {
	e.record()
	e.settle()
}

// settle lets time pass and brings the run as far as it goes now.
func (e *engine) settle() {
	if e.st.Status.State.Active() {
		e.openDue()
	}
	e.tick()
	if state := e.st.Status.State; !state.Active() && state != api.StateStopping {
		e.st.RerunOf = nil
	}
	e.derive()
}

// finish compares with what came in.
func (e *engine) finish() Decision {
	e.out.Status = e.st
	e.out.Events = e.events()
	e.out.Changed = e.changed()
	e.out.Recheck = e.recheck()
	return e.out
}

func (e *engine) current() int { return CurrentStage(&e.st) }

func (e *engine) stamp() metav1.Time { return metav1.NewTime(e.now) }

// enter sets a state with its times.
func (e *engine) enter(s *api.UpdateStatus, state api.UpdateState) {
	if s.State == state {
		return
	}
	s.State = state
	s.CompletedTime = metav1.Time{}
	if state.Terminal() {
		s.CompletedTime = e.stamp()
	}
	if s.StartTime.IsZero() && (state == api.StateRunning || state == api.StatePending) {
		s.StartTime = e.stamp()
	}
}
