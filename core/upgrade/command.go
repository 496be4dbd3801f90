package upgrade

import (
	"cmp"
	"slices"

	"flotilla/core/api"
	"flotilla/core/stage"
)

// Wanted is the operation one member is to run now.
type Wanted struct {
	Member    string
	Operation api.UpgradeOperation
}

// Operations returns what the members of a run are to do now, sorted by member. It derives from a
// written status alone, so that a hub that restarts commands the same; an agent executes each
// operation id at most once.
func Operations(run *api.UpdateRun, status *api.UpdateRunStatus) []Wanted {
	var out []Wanted
	if status.Content != nil {
		return nil
	}
	for i := range status.Stages {
		stage.EachMember(&status.Stages[i], func(m *api.MemberUpdateStatus) {
			if m.Status.State == api.StateRunning {
				out = append(out, Wanted{Member: m.Name, Operation: operation(run, status, m)})
			}
		})
	}
	slices.SortFunc(out, func(a, b Wanted) int { return cmp.Compare(a.Member, b.Member) })
	return out
}

func operation(run *api.UpdateRun, status *api.UpdateRunStatus, m *api.MemberUpdateStatus) api.UpgradeOperation {
	op := api.UpgradeOperation{
		ID: m.OperationID, Run: status.Run, Attempt: m.Attempt, Type: run.Spec.Upgrade.Type,
		ControlPlaneVersion: m.ToVersion, Checks: status.Policy.Checks,
		TimeoutSeconds:            int(api.Span(status.Policy.MemberTimeout).Seconds()),
		DisableUnattendedUpgrades: run.Spec.Upgrade.Type == api.UpgradeNodeImageOnly && api.On(status.Policy.DisableUnattendedUpgrades, true),
	}
	if op.Checks == "" {
		op.Checks = api.ChecksBlock
	}
	for i := range m.NodeImages {
		if m.NodeImages[i].Result == api.PoolPlanned {
			op.NodePools = append(op.NodePools, m.NodeImages[i])
		}
	}
	return op
}
