package upgrade

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/stage"
)

// World is what a simulation goes through, whatever its run does to members: the steps of the run over a copy of the fleet, and what
// the fleet makes of them.
type World interface {
	Step(status *api.UpdateRunStatus, now time.Time) stage.Decision
	Operate(status *api.UpdateRunStatus, now time.Time, verb string, ask *api.RunRequest) (stage.Decision, *api.Refusal)
	// Answer lets the fleet know that an operation ended.
	Answer(status *api.UpdateRunStatus, result *api.UpgradeResult, now time.Time)
	// Wake is when the fleet changes next by itself; zero: never.
	Wake() time.Time
}

// upgradeWorld is the world of an update run: the view of its simulation.
type upgradeWorld struct{ s *Simulation }

func (u upgradeWorld) Step(status *api.UpdateRunStatus, now time.Time) stage.Decision {
	return Step(u.s.Run, status, u.s.View, now)
}

func (u upgradeWorld) Operate(status *api.UpdateRunStatus, now time.Time, verb string, ask *api.RunRequest) (stage.Decision, *api.Refusal) {
	return Operate(u.s.Run, status, u.s.View, now, verb, ask)
}

func (u upgradeWorld) Answer(_ *api.UpdateRunStatus, result *api.UpgradeResult, _ time.Time) {
	u.s.View.Results[result.Operation] = *result
	if result.Outcome == api.OutcomeSucceeded {
		u.s.succeed(result.Member)
	}
}

func (upgradeWorld) Wake() time.Time { return time.Time{} }

// PlanIn simulates a run in a world that is not one of upgrades.
func PlanIn(world World, status api.UpdateRunStatus, now time.Time, a Assumptions) RunPlan {
	now = now.UTC().Truncate(time.Second)
	taken := map[string]Expected{}
	s := &Simulation{Status: status, View: View{Fleet: NewFleet(nil)}, Now: now, Started: map[string]int{}, world: world}
	s.assume = a.taking(&status, taken)
	s.expectRunning()
	return s.course(PlanRefused(status.Run, nil), taken, a)
}

// PlanRefused is the plan of a run that cannot be created.
func PlanRefused(run string, refusal *api.Refusal) RunPlan {
	return RunPlan{Name: run, State: Refused, Refusal: refusal, Events: []PlanEvent{}, Members: []MemberPlan{}}
}

// taking is how operations of a run are taken to go; how long they last is noted.
func (a *Assumptions) taking(status *api.UpdateRunStatus, taken map[string]Expected) func(*api.MemberUpdateStatus) Assumed {
	own, policy := DurationsOf([]api.UpdateRunStatus{*status}), status.Policy
	return func(m *api.MemberUpdateStatus) Assumed {
		took, basis := a.of(policy, &own, m)
		taken[m.Name] = Expected{Duration: metav1.Duration{Duration: took}, Basis: basis}
		return Assumed{Duration: took}
	}
}

// course has the run begin, or go on, and tells how it ends.
func (s *Simulation) course(out RunPlan, taken map[string]Expected, a Assumptions) RunPlan {
	s.hold(a.Ends)
	now := s.Now
	warnings := s.Status.Warnings
	if refusal := s.begin(now, a.Operation); refusal != nil {
		out.Refusal, out.Warnings = refusal, warnings
		return out
	}
	others := slices.Clone(s.others)
	s.play(now.Add(PlanHorizon), &a)
	s.tellHeld()
	return s.report(out, taken, others)
}

// begin does what is asked of the run; where nothing is said one that was not started begins, and others go on.
func (s *Simulation) begin(now time.Time, first *api.RunOperation) *api.Refusal {
	if first == nil {
		first = &api.RunOperation{}
		if s.Status.Status.State == api.StateNotStarted {
			first.Verb = api.VerbRunStart
		}
	}
	if first.Verb == "" {
		s.take(s.world.Step(&s.Status, now))
		return nil
	}
	_, refusal := s.Operate(now, first.Verb, &first.Ask)
	return refusal
}
