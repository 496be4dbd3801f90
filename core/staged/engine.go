package staged

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/core/window"
)

// engine is one step of a run, and what it does to its members: it lets them have a snapshot.
type engine struct {
	*stage.Run
	run   *api.StagedUpdateRun
	view  View
	held  map[string]*api.ReleaseEntry
	bound map[string]bool
}

func newEngine(run *api.StagedUpdateRun, status *api.UpdateRunStatus, v View, now time.Time) *engine {
	e := &engine{run: run, view: v, held: v.held(), bound: v.bound()}
	e.Run = stage.New(status, e, now)
	return e
}

// Begin takes the members in as they are at the first start.
func (e *engine) Begin() *api.Refusal {
	fresh, refusal := Create(e.run, e.view, e.Now)
	if refusal != nil {
		return refusal
	}
	if e.view.snapshot(e.Status.Content.Snapshot) == nil {
		return e.gone()
	}
	if refusal := e.view.refused(e.Status.Content.Snapshot); refusal != nil {
		return refusal
	}
	content := *e.Status.Content
	content.Policy, content.Windows = fresh.Content.Policy, fresh.Content.Windows
	e.Status.Content = &content
	for _, warning := range fresh.Warnings {
		if !slices.Contains(e.Status.Warnings, warning) {
			e.Status.Warnings = append(slices.Clip(e.Status.Warnings), warning)
		}
	}
	stage.AdoptLeftOut(&e.Status, &fresh)
	if len(fresh.Stages) != len(e.Status.Stages) || sameMembers(fresh.Stages, e.Status.Stages) {
		return nil
	}
	e.Replace(fresh.Stages, fresh.Members)
	e.Status.Warnings = append(slices.Clip(e.Status.Warnings), "the members of the placement changed after the run was created; they were put into stages anew at its start")
	return nil
}

func (e *engine) gone() *api.Refusal {
	return &api.Refusal{
		Code: api.CodeInvalidState, Next: typed(e.Status.Content.Placement, "rollout history"),
		Message: fmt.Sprintf("revision %d of placement %s is not kept any more", e.Status.Content.Snapshot, e.Status.Content.Placement),
	}
}

func sameMembers(a, b []api.StageStatus) bool {
	for i := range a {
		same := slices.EqualFunc(a[i].Groups[0].Members, b[i].Groups[0].Members, func(x, y api.MemberUpdateStatus) bool {
			return x.Name == y.Name && x.Rank == y.Rank
		})
		if !same {
			return false
		}
	}
	return true
}

// Order is that of the label of the stage, then of names.
func (*engine) Order() func(a, b stage.Candidate) int {
	return func(a, b stage.Candidate) int {
		return cmp.Or(cmp.Compare(a.Status.Rank, b.Status.Rank), cmp.Compare(a.Status.Name, b.Status.Name))
	}
}

// LockEnd is never: content takes no locks.
func (*engine) LockEnd(*api.MemberUpdateStatus) time.Time { return time.Time{} }

// Over says that the placement is gone, rolls out by itself now, or has its members picked anew.
func (e *engine) Over() *api.Refusal {
	content := e.Status.Content
	refuse := func(code, next, format string) *api.Refusal {
		return &api.Refusal{Code: code, Next: next, Message: fmt.Sprintf(format, content.Placement)}
	}
	switch {
	case e.left():
		return refuse(api.ReasonNoLongerPicked, "flotilla get placements", "the placement %s that the run is for is gone")
	case !e.view.Placement.External():
		return refuse(api.CodeInvalidState, typed(content.Placement, "describe"), "placement %s rolls out by itself now: its spec.strategy.type is not "+api.StrategyExternal+" any more")
	case content.RollBack != nil: // where members go back to is not for the policy to say
	case e.view.schedule() == nil || e.view.Schedule.Policy != content.Policy:
		return refuse(api.ReasonPolicyChanged, typed(content.Placement, "why"), "the policy of placement %s changed after the run began; make another run")
	}
	return nil
}

// left says that the placement that the run is for is gone, or going.
func (e *engine) left() bool {
	p := e.view.Placement
	return p == nil || p.DeletionTimestamp != nil || string(p.UID) != e.Status.Content.PlacementUID
}

// Undone says that something else was given to the member since, or that it lost the placement and got it back.
func (e *engine) Undone(s *api.StageStatus, m *api.MemberUpdateStatus) bool {
	entry := e.held[m.Name]
	has := entry != nil && !entry.Withdrawn && entry.Snapshot == e.Status.Content.Snapshot
	return s.Name != api.DeleteStage && e.bound[m.Name] && !has
}

// Removed is the verdict on a member that left the fleet, or is leaving it.
func (e *engine) Removed(m *api.MemberUpdateStatus) *stage.Verdict {
	switch member, known := e.view.Member(m.Name); {
	case !known:
		return stage.Skip(api.ReasonMemberRemoved, "the member left the fleet")
	case member.Leaving:
		return stage.Skip(api.ReasonMemberRemoved, "the member is leaving the fleet")
	}
	return nil
}

// Check judges a member whose turn it is.
func (e *engine) Check(m *api.MemberUpdateStatus, o window.Opening) stage.Verdict {
	if e.Status.Content.RollBack != nil {
		return e.checkBack(m)
	}
	content := e.Status.Content
	if v := e.Removed(m); v != nil {
		return *v
	}
	if i := stage.CurrentStage(&e.Status); i >= 0 && e.Status.Stages[i].Name == api.DeleteStage {
		return e.checkLeaver(m, o)
	}
	if v := e.unpicked(m.Name); v != nil {
		return *v
	}
	if e.view.snapshot(content.Snapshot) == nil {
		return *stage.Fail(api.CodeInvalidState, "%s", e.gone().Message)
	}
	if v := e.waits(m, o); v != nil {
		return *v
	}
	return e.goes(o, fmt.Sprintf("snapshot %d", content.Snapshot))
}

// unpicked is the verdict on a member that the placement does not go to; nil where it does.
func (e *engine) unpicked(member string) *stage.Verdict {
	if e.bound[member] {
		return nil
	}
	return stage.Skip(api.ReasonNoLongerPicked, "the placement does not go to the member any more")
}

// checkLeaver judges a member that is to give the placement up.
func (e *engine) checkLeaver(m *api.MemberUpdateStatus, o window.Opening) stage.Verdict {
	if e.bound[m.Name] {
		return *stage.Skip(api.ReasonNoLongerPicked, "the member was picked again")
	}
	if v := e.waits(m, o); v != nil {
		return *v
	}
	return e.goes(o, "is to give the placement up")
}
