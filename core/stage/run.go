package stage

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/window"
)

// Work is what a run does to its members. The tree asks it about them, and knows nothing of it. How
// many members may fail, and how long one may wait, are values of the status: the limits of stages
// and groups, and the policy.
type Work interface {
	// Begin binds what holds for the whole run, at its first start.
	Begin() *api.Refusal
	// Over says why the run cannot go on, whatever its members do; nil while it can.
	Over() *api.Refusal
	// Undone says that what was done to a member, which is Completed, is not so any more.
	Undone(*api.StageStatus, *api.MemberUpdateStatus) bool
	// Record takes in what is known of a member that runs, or whose lock is still held: it ends the
	// operation, says how it goes, or gives it up.
	Record(Place)
	// Removed is the verdict on a member that is no more, or not for long; nil when it is there to stay.
	Removed(*api.MemberUpdateStatus) *Verdict
	// Opening is what the maintenance schedule of a member says now.
	Opening(*api.MemberUpdateStatus) window.Opening
	// Order compares members that wait for a slot: the lesser one is offered it first.
	Order() func(a, b Candidate) int
	// Check judges a member that a slot is offered to.
	Check(*api.MemberUpdateStatus, window.Opening) Verdict
	// LockEnd is when the lock of an operation that was given up ends unless its agent is heard of.
	LockEnd(*api.MemberUpdateStatus) time.Time
	// Ended is what a run failed of that has all stages behind it; nil when it did what it was made for.
	Ended() *api.UpdateError
}

// Lock is one lock of a member to take, or to give back, under an operation id.
type Lock struct {
	Member    string
	Operation string
}

// Decision is what should happen to a run now. The caller gives back the locks of Release, each only
// while it still carries that operation, which has ended or was given up; takes those of Take, all of
// them or the decision is dropped; writes Status in one conditional write; then publishes Events.
// Commands derive from the written status.
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

// Run is one step of a run in progress: a status that is copied where it changes.
type Run struct {
	Status  api.UpdateRunStatus
	Now     time.Time
	was     *api.UpdateRunStatus
	owned   []bool // stages whose groups and members were copied
	work    Work
	noted   []Event // what no change of state tells
	release []Lock
	take    []Lock
}

// New begins a step at an instant. The status that is given stays as it is. Without work the tree
// can be read and changed, and goes nowhere.
func New(status *api.UpdateRunStatus, work Work, now time.Time) *Run {
	r := &Run{Status: *status, Now: now.UTC().Truncate(time.Second), was: status, work: work}
	r.Status.Stages = append([]api.StageStatus(nil), status.Stages...)
	r.owned = make([]bool, len(r.Status.Stages))
	return r
}

// Step decides what happens to a run at an instant: what is known of members is recorded, waits and
// gates whose time has come open, and members start as far as stages, groups, gates, the work's own
// checks and windows allow.
func (r *Run) Step() Decision {
	r.record()
	r.settle()
	return r.finish()
}

// Place is where a member stands in the tree.
type Place struct{ Stage, Group, Member int }

// At returns the member at a place, for reading.
func (r *Run) At(p Place) *api.MemberUpdateStatus {
	return &r.Status.Stages[p.Stage].Groups[p.Group].Members[p.Member]
}

// Change returns the member at a place, so that it may be changed.
func (r *Run) Change(p Place) *api.MemberUpdateStatus {
	return &r.Own(p.Stage).Groups[p.Group].Members[p.Member]
}

// Own copies the tree under a stage, once, so that it may be changed.
func (r *Run) Own(i int) *api.StageStatus {
	s := &r.Status.Stages[i]
	if r.owned[i] {
		return s
	}
	r.owned[i] = true
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

// Each calls f for every member, for reading.
func (r *Run) Each(f func(*api.MemberUpdateStatus)) {
	for i := range r.Status.Stages {
		EachMember(&r.Status.Stages[i], f)
	}
}

// EachMember calls f for every member of a stage.
func EachMember(s *api.StageStatus, f func(*api.MemberUpdateStatus)) {
	for j := range s.Groups {
		for k := range s.Groups[j].Members {
			f(&s.Groups[j].Members[k])
		}
	}
}

// record has the work take in what is known of the members that run, and of those whose locks are held.
func (r *Run) record() {
	for i := range r.Status.Stages {
		stage := &r.Status.Stages[i]
		for j := range stage.Groups {
			for k := range stage.Groups[j].Members {
				p := Place{i, j, k}
				if m := r.At(p); m.Status.State == api.StateRunning || m.Locked {
					r.work.Record(p)
				}
			}
		}
	}
}

// settle lets time pass and brings the run as far as it goes now.
func (r *Run) settle() {
	if r.Status.Status.State.Active() {
		r.openDue()
	}
	r.tick()
	if state := r.Status.Status.State; !state.Active() && state != api.StateStopping {
		r.Status.RerunOf = nil
	}
	r.derive()
}

// finish compares with what came in.
func (r *Run) finish() Decision {
	events := r.events()
	return Decision{
		Status: r.Status, Changed: len(events) > 0 || !sameStatus(r.was, &r.Status, r.owned),
		Release: r.release, Take: r.take, Events: events, Recheck: r.recheck(),
	}
}

func (r *Run) current() int { return CurrentStage(&r.Status) }

// Stamp is now, as records keep it.
func (r *Run) Stamp() metav1.Time { return metav1.NewTime(r.Now) }

// Enter sets a state with its times.
func (r *Run) Enter(s *api.UpdateStatus, state api.UpdateState) {
	if s.State == state {
		return
	}
	s.State = state
	s.CompletedTime = metav1.Time{}
	if state.Terminal() {
		s.CompletedTime = r.Stamp()
	}
	if s.StartTime.IsZero() && (state == api.StateRunning || state == api.StatePending) {
		s.StartTime = r.Stamp()
	}
}
