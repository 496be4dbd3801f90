package stage

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// DefaultName is the name of the stage and group of a run without a strategy (A50).
const DefaultName = "default"

// Sequence returns the strategy a run follows: as written, or all members one by one.
func Sequence(s *api.RunStrategy) api.RunStrategy {
	if s != nil {
		return *s
	}
	everything := &api.MemberSelector{}
	return api.RunStrategy{Stages: []api.UpdateStage{{
		Name: DefaultName, Groups: []api.UpdateGroup{{Name: DefaultName, MemberSelector: everything}},
	}}}
}

// GroupsOf returns the groups of a stage. A stage without groups has one, of all it selects, named
// after the stage; it runs one member at a time unless the stage says otherwise.
func GroupsOf(s *api.UpdateStage) []api.UpdateGroup {
	if len(s.Groups) > 0 {
		return s.Groups
	}
	return []api.UpdateGroup{{Name: s.Name, MemberSelector: &api.MemberSelector{}, MaxConcurrency: s.MaxConcurrency}}
}

// Tree builds the status of every stage of a strategy, of the members that each group was given, sorted
// by name; at most atOnce members of a stage run at once, whatever it says. It returns it with the number of members and what
// the limits had to clamp.
func Tree(s *api.RunStrategy, of func(stage, group int) []api.MemberUpdateStatus, atOnce int, now time.Time) (stages []api.StageStatus, members int, clamped []string) {
	stages = make([]api.StageStatus, len(s.Stages))
	for i := range s.Stages {
		stage, status := &s.Stages[i], &stages[i]
		status.Name, status.Status.State = stage.Name, api.StateNotStarted
		status.BeforeGates, status.AfterGates = gatesOf(stage.BeforeGates), gatesOf(stage.AfterGates)
		if stage.AfterStageWaitInSeconds > 0 {
			status.Wait = &api.WaitStatus{WaitDurationInSeconds: stage.AfterStageWaitInSeconds, Status: api.UpdateStatus{State: api.StateNotStarted}}
		}
		groups := GroupsOf(stage)
		status.Groups = make([]api.GroupStatus, len(groups))
		for j := range groups {
			status.Groups[j] = groupTree(&groups[j], of(i, j), now)
			members += len(status.Groups[j].Members)
		}
		clamped = append(clamped, resolveNumbers(stage, status, atOnce)...)
	}
	return stages, members, clamped
}

func groupTree(g *api.UpdateGroup, members []api.MemberUpdateStatus, now time.Time) api.GroupStatus {
	status := api.GroupStatus{
		Name: g.Name, Status: api.UpdateStatus{State: api.StateNotStarted},
		BeforeGates: gatesOf(g.BeforeGates), AfterGates: gatesOf(g.AfterGates),
		Members: members,
	}
	if len(members) == 0 {
		status.Status = api.UpdateStatus{State: api.StateSkipped, CompletedTime: metav1.NewTime(now)}
	}
	return status
}

func gatesOf(configured []api.GateConfiguration) []api.GateStatus {
	if len(configured) == 0 {
		return nil
	}
	gates := make([]api.GateStatus, len(configured))
	for i := range configured {
		gates[i] = api.GateStatus{
			Status: api.UpdateStatus{State: api.StateNotStarted}, DisplayName: configured[i].DisplayName,
			Type: configured[i].Type, Schedule: configured[i].ScheduledStartConfiguration,
		}
	}
	return gates
}

// MemberStatus finds a member in the tree of a run.
func MemberStatus(status *api.UpdateRunStatus, name string) (*api.MemberUpdateStatus, bool) {
	for i := range status.Stages {
		for j := range status.Stages[i].Groups {
			members := status.Stages[i].Groups[j].Members
			k, ok := slices.BinarySearchFunc(members, name, func(m api.MemberUpdateStatus, name string) int {
				if m.Name < name {
					return -1
				}
				if m.Name > name {
					return 1
				}
				return 0
			})
			if ok {
				return &members[k], true
			}
		}
	}
	return nil, false
}
