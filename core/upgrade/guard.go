package upgrade

import (
	"fmt"
	"slices"

	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/core/validate/upgrades"
)

// CheckEdit refuses a change of a run's spec that comes too late or touches what cannot change.
// Status is nil for a run that has none yet.
func CheckEdit(was, is *api.UpdateRun, status *api.UpdateRunStatus) *api.Refusal {
	if status != nil && status.Status.State != api.StateNotStarted {
		return &api.Refusal{
			Code:    api.CodeInvalidState,
			Message: fmt.Sprintf("run %s is %s; its spec can be edited before its first start only; make a run of another name", is.Name, status.Status.State),
			Next:    stage.Show(status),
		}
	}
	return api.InvalidArgument(upgrades.UpdateRunChange(was, is))
}

// CheckDelete refuses the deletion of a run that is active. Otherwise it returns the locks to give
// back; the gates of a run go with it.
func CheckDelete(status *api.UpdateRunStatus) ([]stage.Lock, *api.Refusal) {
	state := status.Status.State
	if state.Active() || state == api.StateStopping {
		next := "flotilla run stop " + status.Run
		if state == api.StateStopping {
			next = "flotilla run status " + status.Run + " --watch"
		}
		return nil, &api.Refusal{
			Code: api.CodeInvalidState, Message: fmt.Sprintf("run %s is %s and cannot be deleted", status.Run, state), Next: next,
		}
	}
	var locks []stage.Lock
	for i := range status.Stages {
		stage.EachMember(&status.Stages[i], func(m *api.MemberUpdateStatus) {
			if m.Locked {
				locks = append(locks, stage.Lock{Member: m.Name, Operation: m.OperationID})
			}
		})
	}
	return locks, nil
}

// RefuseGateChange is the answer to anybody who edits or deletes a gate.
func RefuseGateChange(gate *api.Gate) *api.Refusal {
	next := "flotilla run status " + gate.Spec.Target.Run
	if gate.Status.State == api.StatePending {
		next = "flotilla run approve " + gate.Spec.Target.Run + " --gate " + gate.Name
	}
	return &api.Refusal{
		Code: api.CodeInvalidState, Message: "gate " + gate.Name + " belongs to its run; gates are made and removed by the hub alone", Next: next,
	}
}

// CheckStrategyDelete refuses the deletion of a strategy that a profile names; runs keep copies and
// do not count.
func CheckStrategyDelete(name string, profiles []api.AutoUpgradeProfile) *api.Refusal {
	for i := range profiles {
		if profiles[i].Spec.StrategyName == name {
			return &api.Refusal{
				Code: api.CodeInvalidState, Message: fmt.Sprintf("profile %s names strategy %s", profiles[i].Name, name),
				Next: "flotilla delete autoupgradeprofile " + profiles[i].Name,
			}
		}
	}
	return nil
}

// CheckVersion refuses an operation on a run that was read at another resourceVersion than one of those it
// has, that of its status first; an empty one asks for nothing.
func CheckVersion(run, asked string, has ...string) *api.Refusal {
	if asked == "" || slices.Contains(has, asked) {
		return nil
	}
	return &api.Refusal{
		Code:    api.CodeETagMismatch,
		Message: fmt.Sprintf("run %s changed since it was read: it is at resourceVersion %s, found %s", run, has[0], asked),
		Next:    "flotilla run status " + run,
	}
}
