package upgrade

import (
	"maps"
	"slices"
	"time"

	"flotilla/core/api"
	"flotilla/core/stage"
)

// Assumed is how an operation goes in a simulation.
type Assumed struct {
	Duration time.Duration
	// Reason of the failure; empty: it succeeds.
	Reason  string
	Message string
	// Silent operations never report.
	Silent bool
}

// Simulation runs an update run over a copy of the fleet, in fake time, through the same steps as the
// hub. It is what Plan and the recorded cases use.
type Simulation struct {
	// Run and Status are as after the last step; View may be changed through Change only.
	Run    *api.UpdateRun
	Status api.UpdateRunStatus
	View   View
	Now    time.Time
	// Events of all steps so far.
	Events []stage.Event
	// Started counts how often each operation id was started.
	Started map[string]int

	world  World
	assume func(*api.MemberUpdateStatus) Assumed
	due    []dueResult // by time, then by member
	wake   time.Time
	others []held // by their ends, those without one last
}

type dueResult struct {
	at     time.Time
	member string
	result api.UpgradeResult
}

// NewSimulation begins at an instant, with operations that go as assumed. The view is copied.
func NewSimulation(run *api.UpdateRun, status api.UpdateRunStatus, view View, now time.Time, assume func(member string, attempt int) Assumed) *Simulation {
	return newSimulation(run, status, view, now, func(m *api.MemberUpdateStatus) Assumed { return assume(m.Name, m.Attempt) })
}

func newSimulation(run *api.UpdateRun, status api.UpdateRunStatus, view View, now time.Time, assume func(*api.MemberUpdateStatus) Assumed) *Simulation {
	view.Fleet = view.Fleet.Clone()
	results := make(map[string]api.UpgradeResult, len(view.Results))
	maps.Copy(results, view.Results)
	view.Results = results
	s := &Simulation{Run: run, Status: status, View: view, Now: now, Started: map[string]int{}, assume: assume}
	s.world = upgradeWorld{s}
	s.expectRunning()
	return s
}

// expectRunning plans the results of the operations that run already.
func (s *Simulation) expectRunning() {
	status := &s.Status
	for i := range status.Stages {
		stage.EachMember(&status.Stages[i], func(m *api.MemberUpdateStatus) {
			if m.Status.State == api.StateRunning {
				s.expect(m)
			}
		})
	}
}

// Until lets time pass up to and including an instant.
func (s *Simulation) Until(end time.Time) {
	for s.Advance(end) {
	}
	s.Now = end
}

// Advance goes to the next instant at which something happens, unless it is after end, and reports
// whether there was one.
func (s *Simulation) Advance(end time.Time) bool {
	next := s.next()
	if next.IsZero() || next.After(end) {
		return false
	}
	s.Now = next
	s.deliver()
	s.take(s.world.Step(&s.Status, s.Now))
	return true
}

// next is the next instant at which something happens; zero: never.
func (s *Simulation) next() time.Time {
	a := stage.Alarm{Now: s.Now.Add(-time.Second)}
	a.At(s.wake)
	a.At(s.world.Wake())
	if len(s.others) > 0 {
		a.At(s.others[0].ends)
	}
	if len(s.due) > 0 {
		a.At(s.due[0].at)
	}
	return a.Next
}

// Operate lets a user act at an instant.
func (s *Simulation) Operate(at time.Time, verb string, ask *api.RunRequest) (noop bool, refusal *api.Refusal) {
	s.upTo(at)
	step, refusal := s.world.Operate(&s.Status, at, verb, ask)
	if refusal != nil {
		return false, refusal
	}
	s.take(step)
	return step.Noop, nil
}

// Change lets the world change at an instant.
func (s *Simulation) Change(at time.Time, change func(*View)) {
	s.upTo(at)
	change(&s.View)
	s.take(s.world.Step(&s.Status, at))
}

// upTo lets everything happen that is due before an instant, and delivers what is due at it.
func (s *Simulation) upTo(at time.Time) {
	s.Until(at.Add(-time.Second))
	s.Now = at
	s.deliver()
}

// deliver hands out the results that are due now.
func (s *Simulation) deliver() {
	n := 0
	for n < len(s.due) && !s.due[n].at.After(s.Now) {
		d := &s.due[n]
		s.world.Answer(&s.Status, &d.result, s.Now)
		n++
	}
	s.due = s.due[n:]
	s.freed()
}

// observe replaces an inventory whose schedules stay as they were, so that nothing in it can be wrong.
func (s *Simulation) observe(name string, inventory api.MemberInventory) {
	_ = s.View.Fleet.Observe(name, inventory)
}

// succeed moves a member to where its operation meant to bring it.
func (s *Simulation) succeed(name string) {
	m, ok := s.View.Fleet.Member(name)
	status, found := stage.MemberStatus(&s.Status, name)
	if !ok || !found {
		return
	}
	inventory := m.Inventory
	if status.ToVersion != "" {
		inventory.ControlPlaneVersion = status.ToVersion
	}
	inventory.NodePools = slices.Clone(inventory.NodePools)
	for i := range inventory.NodePools {
		p := &inventory.NodePools[i]
		for j := range status.NodeImages {
			if move := &status.NodeImages[j]; move.Pool == p.Name {
				applyMove(p, move)
			}
		}
	}
	s.observe(name, inventory)
}

func applyMove(p *api.NodePoolFacts, move *api.PoolUpgrade) {
	if move.ToVersion != "" {
		p.KubernetesVersion = move.ToVersion
	}
	if move.To != "" {
		p.NodeImageVersion = move.To
	}
	if move.DropSnapshot {
		p.FromSnapshot = false
	}
}

// take keeps what a step decided and plans the results of what it started.
func (s *Simulation) take(step stage.Decision) {
	s.Status, s.wake = step.Status, step.Recheck
	s.Events = append(s.Events, step.Events...)
	for _, lock := range step.Take {
		s.Started[lock.Operation]++
		if status, ok := stage.MemberStatus(&s.Status, lock.Member); ok {
			s.expect(status)
		}
	}
}

// expect plans the result of an operation that runs.
func (s *Simulation) expect(m *api.MemberUpdateStatus) {
	assumed := s.assume(m)
	if assumed.Silent {
		return
	}
	result := api.UpgradeResult{
		Header: api.NewHeader(api.KindUpgradeResult), Member: m.Name, Run: s.Status.Run, Operation: m.OperationID,
		Outcome: api.OutcomeSucceeded, Message: assumed.Message,
	}
	if assumed.Reason != "" {
		result.Outcome, result.Reason = api.OutcomeFailed, assumed.Reason
	}
	at := m.Status.StartTime.Add(assumed.Duration)
	if at.Before(s.Now) {
		at = s.Now
	}
	s.plan(dueResult{at: at, member: m.Name, result: result})
}

// plan inserts a result in order of time and member.
func (s *Simulation) plan(d dueResult) {
	i, _ := slices.BinarySearchFunc(s.due, d, func(a, b dueResult) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		if a.member < b.member {
			return -1
		}
		return 1
	})
	s.due = slices.Insert(s.due, i, d)
}
