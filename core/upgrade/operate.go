package upgrade

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// Operate does what a user asks of a run, and what follows from it at once, or refuses it and changes
// nothing. Which operation is legal in which state is the table of updates.md 1.6. Ask is a
// RunRequest with one of the verbs run-start, run-stop, run-skip, run-approve and run-rerun.
func Operate(run *api.UpdateRun, status *api.UpdateRunStatus, view View, now time.Time, verb string, ask *api.RunRequest) (Step, *api.Refusal) {
	e := newEngine(run, status, view, now)
	e.record()
	if e.st.Status.State == api.StateStopping {
		e.drain()
	}
	var noop bool
	var refusal *api.Refusal
	switch verb {
	case api.VerbRunStart:
		noop, refusal = e.startRun(ask)
	case api.VerbRunStop:
		noop, refusal = e.stopRun()
	case api.VerbRunSkip:
		refusal = e.skipTargets(ask.Targets)
	case api.VerbRunApprove:
		refusal = e.approve(ask.Gate)
	case api.VerbRunRerun:
		refusal = e.rerun(ask)
	default:
		refusal = &api.Refusal{Code: api.CodeInvalidArgument, Message: "there is no operation " + verb + " on runs"}
	}
	if refusal != nil {
		return Step{}, refusal
	}
	e.settle()
	step := e.finish()
	step.Noop = noop
	return step, nil
}

// wrongState refuses an operation in the state the run is in.
func (e *engine) wrongState(operation, next string) *api.Refusal {
	r := &api.Refusal{
		Code: api.CodeInvalidState, Message: fmt.Sprintf("run %s is %s and cannot be %s", e.st.Run, e.st.Status.State, operation),
	}
	if next != "" {
		r.Next = "flotilla run " + next + " " + e.st.Run
	}
	return r
}

func (e *engine) startRun(ask *api.RunRequest) (noop bool, refusal *api.Refusal) {
	if ask.IgnoreMaintenanceWindows && ask.Reason == "" {
		return false, &api.Refusal{Code: api.CodeInvalidArgument, Message: "ignoring maintenance windows needs a reason", Next: "--reason TEXT"}
	}
	switch e.st.Status.State {
	case api.StateRunning, api.StatePending:
		return true, nil
	case api.StateStopping:
		return false, e.wrongState("started before it has stopped", "status")
	case api.StateCompleted, api.StateSkipped:
		return false, e.wrongState("started", "rerun")
	case api.StateNotStarted:
		refusal = e.firstStart()
	default:
		e.resume(ask.IncludeSkipped)
	}
	if refusal == nil {
		e.ignoreWindows(ask)
	}
	return false, refusal
}

func (e *engine) ignoreWindows(ask *api.RunRequest) {
	e.st.WindowsIgnored = ""
	if ask.IgnoreMaintenanceWindows {
		e.st.WindowsIgnored = ask.Reason
	}
}

// firstStart refreshes the membership, binds what is bound once for the whole run, and checks the
// members against the version rules.
func (e *engine) firstStart() *api.Refusal {
	if refusal := e.refresh(); refusal != nil {
		return refusal
	}
	e.bind()
	e.goal = newGoal(e.run, &e.st)
	if refusal := e.preflight(); refusal != nil {
		return refusal
	}
	e.st.BlockedBy = ""
	e.enter(&e.st.Status, api.StateRunning)
	return nil
}

// bind resolves an alias and selects consistent images, once (updates.md 2.9 rule 15 and 3.1).
func (e *engine) bind() {
	members := e.view.Fleet.frozen(e.st.Stages)
	upgrade := &e.run.Spec.Upgrade
	if e.st.ResolvedKubernetesVersion == "" && upgrade.KubernetesVersion != "" {
		minor, _ := ParseVersion(upgrade.KubernetesVersion)
		var regions []string
		for _, m := range members {
			regions = append(regions, m.Inventory.Region)
		}
		if v, ok := e.view.Catalog.Alias(minor, regions); ok {
			e.st.ResolvedKubernetesVersion = v.String()
		}
	}
	if upgrade.Images() == api.ImagesConsistent && upgrade.Type != api.UpgradeControlPlaneOnly && e.st.NodeImageSelection == nil {
		var places []Place
		for _, m := range members {
			for i := range m.Pools {
				if m.Pools[i].Family != "" {
					places = append(places, Place{Region: m.Inventory.Region, Family: m.Pools[i].Family})
				}
			}
		}
		e.st.NodeImageSelection = &api.SelectedImages{SelectedNodeImageVersions: e.view.Catalog.Consistent(places)}
	}
}

// refresh selects the members anew when the fleet changed between creation and the first start, and
// keeps what users skipped (updates.md 2.9 rule 6).
func (e *engine) refresh() *api.Refusal {
	picked, err := selectMembers(&e.st.Strategy, e.view.Fleet)
	if err != nil {
		return &api.Refusal{Code: api.CodeInvalidArgument, Message: err.Error()}
	}
	picked.missing = nil // a group may have lost its last member meanwhile
	if refusal := picked.refuse(e.st.Run); refusal != nil {
		return refusal
	}
	if e.sameMembers(&picked) {
		return nil
	}
	fresh, members, _ := tree(&e.st.Strategy, &picked, e.now)
	if members > api.MaxRunMembers {
		return &api.Refusal{
			Code:    api.CodeLimitExceeded,
			Message: fmt.Sprintf("the stages select %d members, a run holds at most %d", members, api.MaxRunMembers),
		}
	}
	keepSkips(fresh, e.st.Stages)
	e.st.Stages, e.st.Members = fresh, members
	for i := range e.owned {
		e.owned[i] = true
	}
	e.st.Warnings = append(slices.Clip(e.st.Warnings), "the fleet changed after the run was created; its members were selected anew at the first start")
	e.rebase()
	return nil
}

func (e *engine) sameMembers(picked *selection) bool {
	for i := range e.st.Stages {
		for j := range e.st.Stages[i].Groups {
			old, now := e.st.Stages[i].Groups[j].Members, picked.members[i][j]
			same := slices.EqualFunc(old, now, func(a api.MemberUpdateStatus, b *Member) bool {
				return a.Name == b.Name && a.ClusterResourceID == b.ID
			})
			if !same {
				return false
			}
		}
	}
	return true
}

// keepSkips carries over what users skipped before the first start.
func keepSkips(fresh, old []api.StageStatus) {
	for i := range fresh {
		fresh[i].SkippedByUser = old[i].SkippedByUser
		fresh[i].Status, fresh[i].Wait = old[i].Status, old[i].Wait
		fresh[i].BeforeGates, fresh[i].AfterGates = old[i].BeforeGates, old[i].AfterGates
		for j := range fresh[i].Groups {
			g, was := &fresh[i].Groups[j], &old[i].Groups[j]
			g.SkippedByUser, g.BeforeGates, g.AfterGates = was.SkippedByUser, was.BeforeGates, was.AfterGates
			for k := range g.Members {
				m := &g.Members[k]
				at := slices.IndexFunc(was.Members, func(o api.MemberUpdateStatus) bool {
					return o.Name == m.Name && o.ClusterResourceID == m.ClusterResourceID
				})
				switch {
				case at >= 0:
					*m = was.Members[at]
				case g.SkippedByUser:
					skipByUser(m, api.ReasonSkippedByGroup, g.Status.CompletedTime)
				}
			}
		}
	}
}

// rebase makes the refreshed tree the one that events compare with: members that came or went are no
// transitions.
func (e *engine) rebase() {
	was := *e.was
	was.Stages = make([]api.StageStatus, len(e.st.Stages))
	copied := engine{st: api.UpdateRunStatus{Stages: append([]api.StageStatus(nil), e.st.Stages...)}, owned: make([]bool, len(e.st.Stages))}
	for i := range was.Stages {
		was.Stages[i] = *copied.own(i)
	}
	e.was = &was
}

// resume starts a run that stopped or failed: members of the unfinished stage that were stopped, that
// the system skipped and, in a Failed run, that failed are NotStarted again.
func (e *engine) resume(includeSkipped bool) {
	retryFailed := e.st.Status.State == api.StateFailed
	if i := e.current(); i >= 0 {
		for j := range e.own(i).Groups {
			g := &e.st.Stages[i].Groups[j]
			revived := false
			for k := range g.Members {
				m := &g.Members[k]
				again := m.Status.State == api.StateStopped || m.SkippedBy == api.SkippedBySystem ||
					retryFailed && m.Status.State == api.StateFailed
				if again {
					e.revive(m)
					revived = true
				}
			}
			if revived && !g.SkippedByUser {
				reopenGates(g.AfterGates)
			}
		}
	}
	if includeSkipped {
		e.reviveSkipped()
	}
	e.enter(&e.st.Status, api.StateRunning)
}

// revive makes a member NotStarted again; what happened to it moves into its history.
func (e *engine) revive(m *api.MemberUpdateStatus) {
	if m.Status.State == api.StateFailed || m.Status.State == api.StateCompleted {
		e.remember(m, m.Status.State, m.Reason, m.Message)
	}
	m.Status = api.UpdateStatus{State: api.StateNotStarted}
	m.Reason, m.Message, m.SkippedBy, m.WindowClass = "", "", "", 0
	m.NextEligibleTime, m.PendingSince = metav1.Time{}, metav1.Time{}
}

// reopenGates lets gates that were skipped be reached again.
func reopenGates(gates []api.GateStatus) {
	for k := range gates {
		if gates[k].Status.State == api.StateSkipped {
			gates[k].Status = api.UpdateStatus{State: api.StateNotStarted}
			gates[k].GateID, gates[k].AbsoluteStartTime = "", metav1.Time{}
		}
	}
}

// reviveSkipped revives what users skipped in the stages that are not behind us.
func (e *engine) reviveSkipped() {
	e.reviveWhere(func(s *api.StageStatus, m *api.MemberUpdateStatus) bool {
		return s.Status.State != api.StateCompleted && m.SkippedBy == api.SkippedByUser
	})
}

// reviveWhere revives members and opens again whatever stands around them; it returns how many.
func (e *engine) reviveWhere(chosen func(*api.StageStatus, *api.MemberUpdateStatus) bool) int {
	count := 0
	for i := range e.st.Stages {
		was := e.st.Stages[i]
		here := 0
		for j := range was.Groups {
			inGroup := 0
			for k := range was.Groups[j].Members {
				if chosen(&was, &e.st.Stages[i].Groups[j].Members[k]) {
					e.revive(&e.own(i).Groups[j].Members[k])
					inGroup++
				}
			}
			if inGroup > 0 {
				g := &e.st.Stages[i].Groups[j]
				g.SkippedByUser = false
				reopenGates(g.BeforeGates)
				reopenGates(g.AfterGates)
				here += inGroup
			}
		}
		if here > 0 {
			reopenStage(&e.st.Stages[i])
		}
		count += here
	}
	return count
}

func reopenStage(s *api.StageStatus) {
	s.SkippedByUser = false
	if s.Status.State.Done() {
		s.Status = api.UpdateStatus{State: api.StateNotStarted}
	}
	s.GroupsDone = metav1.Time{}
	reopenGates(s.BeforeGates)
	reopenGates(s.AfterGates)
	if s.Wait != nil {
		s.Wait.Status = api.UpdateStatus{State: api.StateNotStarted}
		s.Wait.Deadline, s.Wait.SkipRequested = metav1.Time{}, false
	}
}

func (e *engine) stopRun() (noop bool, refusal *api.Refusal) {
	switch e.st.Status.State {
	case api.StateRunning, api.StatePending:
		e.halt(api.StateStopped)
		return false, nil
	case api.StateStopping, api.StateStopped:
		return true, nil
	default:
		return false, e.wrongState("stopped", "status")
	}
}

// approve completes a gate that waits; a scheduled start is let go early.
func (e *engine) approve(gate string) *api.Refusal {
	if !e.st.Status.State.Active() {
		return e.wrongState("approved", "start")
	}
	for i := range e.st.Stages {
		var found *api.GateStatus
		eachGate(&e.st.Stages[i], func(g *api.GateStatus, at gateScope) {
			if gate == at.path(g.Type) || gate != "" && gate == g.GateID {
				found = g
			}
		})
		if found == nil {
			continue
		}
		if found.Status.State != api.StatePending {
			return &api.Refusal{
				Code: api.CodeGateNotPending, Message: fmt.Sprintf("gate %s is %s", gate, found.Status.State),
				Next: "flotilla get gates",
			}
		}
		eachGate(e.own(i), func(g *api.GateStatus, at gateScope) {
			if gate == at.path(g.Type) || gate == g.GateID {
				e.enter(&g.Status, api.StateCompleted)
			}
		})
		return nil
	}
	return &api.Refusal{Code: api.CodeRunNotFound, Message: fmt.Sprintf("run %s has no gate %q", e.st.Run, gate), Next: "flotilla get gates"}
}

// rerun opens a finished run for chosen members, with the versions and images it was bound to.
func (e *engine) rerun(ask *api.RunRequest) *api.Refusal {
	if refusal := checkSets(ask.Members); refusal != nil {
		return refusal
	}
	switch e.st.Status.State {
	case api.StateStopped:
		_, refusal := e.startRun(&api.RunRequest{IncludeSkipped: true, IgnoreMaintenanceWindows: ask.IgnoreMaintenanceWindows, Reason: ask.Reason})
		return refusal
	case api.StateFailed, api.StateCompleted, api.StateSkipped:
	case api.StateNotStarted:
		return e.wrongState("rerun before its first start", "start")
	default:
		return e.wrongState("rerun", "stop")
	}
	if ask.IgnoreMaintenanceWindows && ask.Reason == "" {
		return &api.Refusal{Code: api.CodeInvalidArgument, Message: "ignoring maintenance windows needs a reason", Next: "--reason TEXT"}
	}
	failedRun := e.st.Status.State == api.StateFailed
	chosen := e.reviveWhere(func(_ *api.StageStatus, m *api.MemberUpdateStatus) bool { return inSets(m, ask.Members) })
	if chosen == 0 && !failedRun {
		return &api.Refusal{
			Code:    api.CodeInvalidArgument,
			Message: fmt.Sprintf("run %s has no member in %s", e.st.Run, strings.Join(ask.Members, ", ")),
			Next:    "flotilla run status " + e.st.Run,
		}
	}
	if failedRun {
		e.resume(false)
	}
	e.enter(&e.st.Status, api.StateRunning)
	e.ignoreWindows(ask)
	return nil
}

func checkSets(sets []string) *api.Refusal {
	known := []string{api.RerunFailed, api.RerunSkippedByUser, api.RerunSkippedBySystem, api.RerunAll}
	for _, set := range sets {
		if !slices.Contains(known, set) {
			return &api.Refusal{Code: api.CodeInvalidArgument, Message: fmt.Sprintf("found set %q, expected some of %s", set, strings.Join(known, ", "))}
		}
	}
	if len(sets) == 0 {
		return &api.Refusal{Code: api.CodeInvalidArgument, Message: "no members chosen, expected some of " + strings.Join(known, ", ")}
	}
	return nil
}

func inSets(m *api.MemberUpdateStatus, sets []string) bool {
	for _, set := range sets {
		switch {
		case set == api.RerunAll,
			set == api.RerunFailed && m.Status.State == api.StateFailed,
			set == api.RerunSkippedByUser && m.SkippedBy == api.SkippedByUser,
			set == api.RerunSkippedBySystem && m.SkippedBy == api.SkippedBySystem:
			return true
		}
	}
	return false
}
