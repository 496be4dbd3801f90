package upgrade

import (
	"time"

	"flotilla/core/api"
	"flotilla/core/guard"
	"flotilla/core/stage"
	"flotilla/core/version"
	"flotilla/core/window"
)

// View is what a step sees besides the run: the fleet, the catalog (nil: none), results of this run's
// operations by operation id, and who holds the locks of members, by member, in words for people.
// Locks this run holds itself are not in it.
type View struct {
	Fleet   *Fleet
	Catalog *version.Catalog
	Results map[string]api.UpgradeResult
	Locks   map[string]string
	// Freezes keep members from beginning.
	Freezes guard.Freezes
}

// LockGrace is how long after the last heartbeat of a silent agent its lock is kept (A56).
const LockGrace = 10 * time.Minute

// PreflightRetry is how long a member that its preflight blocked waits for the next attempt.
const PreflightRetry = 5 * time.Minute

// Step decides what happens to a run at an instant: results are recorded, waits and gates whose time
// has come open, and members start as far as stages, groups, gates, rules and windows allow.
func Step(run *api.UpdateRun, status *api.UpdateRunStatus, view View, now time.Time) stage.Decision {
	return newEngine(run, status, view, now).Step()
}

// Operate does what a user asks of a run, and what follows from it at once, or refuses it and changes
// nothing. Ask is a RunRequest with one of the verbs run-start, run-stop, run-skip, run-approve and
// run-rerun.
func Operate(run *api.UpdateRun, status *api.UpdateRunStatus, view View, now time.Time, verb string, ask *api.RunRequest) (stage.Decision, *api.Refusal) {
	return newEngine(run, status, view, now).Operate(verb, ask)
}

// engine is one step of a run in progress, and what it does to its members: upgrades.
type engine struct {
	*stage.Run
	run  *api.UpdateRun
	view View
	goal goal
}

func newEngine(run *api.UpdateRun, status *api.UpdateRunStatus, view View, now time.Time) *engine {
	e := &engine{run: run, view: view, goal: newGoal(run, status)}
	e.Run = stage.New(status, e, now)
	return e
}

// frozen returns the member of the fleet that a run froze, nil when it is no more or another one
// bears its name.
func (e *engine) frozen(m *api.MemberUpdateStatus) *Member {
	f := e.view.Fleet.members[m.Name]
	if f == nil || !f.is(m.ClusterResourceID) {
		return nil
	}
	return f
}

// Order is that of maintenance windows.
func (*engine) Order() func(a, b stage.Candidate) int { return stage.ByWindow }

// Opening returns what the member's schedule for the type of upgrade says.
func (e *engine) Opening(m *api.MemberUpdateStatus) window.Opening {
	f := e.view.Fleet.members[m.Name]
	if f == nil {
		return window.Opening{Class: window.None}
	}
	return f.window(e.goal.kind).Next(e.Now)
}

// Over is never: an upgrade is of its members alone.
func (*engine) Over() *api.Refusal { return nil }

// Undone is never: nobody goes back to an earlier version.
func (*engine) Undone(*api.StageStatus, *api.MemberUpdateStatus) bool { return false }

// Removed is the verdict on a member that left the fleet, or is leaving it.
func (e *engine) Removed(m *api.MemberUpdateStatus) *stage.Verdict {
	switch f := e.frozen(m); {
	case f == nil:
		return stage.Skip(api.ReasonMemberRemoved, "the member left the fleet, or another one bears its name")
	case f.Leaving:
		return stage.Skip(api.ReasonMemberRemoved, "the member is leaving the fleet")
	default:
		return nil
	}
}
