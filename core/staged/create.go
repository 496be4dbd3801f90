package staged

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/core/stage"
	"flotilla/core/strict"
)

// Create makes the status of a new run: the strategy copied, the snapshot fixed, every member of the placement in one
// stage, those that are to give it up in the last. A run is created whole, or refused.
func Create(run *api.StagedUpdateRun, v View, now time.Time) (api.UpdateRunStatus, *api.Refusal) {
	if refusal := v.ready(run); refusal != nil {
		return api.UpdateRunStatus{}, refusal
	}
	snapshot, refusal := v.chosen(run)
	if refusal != nil {
		return api.UpdateRunStatus{}, refusal
	}
	members, left, refusal := v.distribute(run.Key(), v.Strategy.Spec.Stages)
	if refusal != nil {
		return api.UpdateRunStatus{}, refusal
	}
	status := api.UpdateRunStatus{
		Header: api.NewHeader(api.KindRunStatus), Run: run.Key(), UID: string(run.UID), ObservedGeneration: run.Generation,
		Status: api.UpdateStatus{State: api.StateNotStarted},
		Policy: api.UpdatePolicy{MemberTimeout: &metav1.Duration{Duration: StuckAfter}},
		Content: &api.ContentRun{
			Kind: run.Kind, Placement: v.Placement.Key(), PlacementUID: string(v.Placement.UID),
			Check:    cmp.Or(v.Strategy.Annotations[api.AnnotationRolloutCheck], v.Placement.Annotations[api.AnnotationRolloutCheck]),
			Snapshot: snapshot.Index, Policy: v.Schedule.Policy, Strategy: v.Strategy.Spec, Followed: api.RunInitialize,
			Windows: inWindows(run, v.Strategy),
		},
	}
	status.Stages, status.Members = tree(v.Strategy.Spec.Stages, members, status.Content.Check, now)
	if status.Members == 0 {
		return status, &api.Refusal{
			Code: api.CodeNoMembers, Next: typed(v.Placement.Key(), "why"),
			Message: fmt.Sprintf("placement %s is picked for no member, and none holds it", v.Placement.Key()),
		}
	}
	v.warnShut(&status, now)
	stage.TellLeftOut(&status, left)
	return status, nil
}

// tree lays the members of each stage out.
func tree(stages []api.ContentStage, members [][]api.MemberUpdateStatus, check string, now time.Time) ([]api.StageStatus, int) {
	sequence := api.RunStrategy{}
	for i := range stages {
		sequence.Stages = append(sequence.Stages, stageOf(&stages[i], check))
	}
	sequence.Stages = append(sequence.Stages, api.UpdateStage{Name: api.DeleteStage, MaxConcurrency: "100%"})
	laid, count, _ := stage.Tree(&sequence, func(at, _ int) []api.MemberUpdateStatus { return members[at] }, api.MaxRunMembers, now)
	return laid, count
}

// stageOf is a stage as core/stage has it, with a gate of a RolloutCheck behind it, if there is one.
func stageOf(s *api.ContentStage, check string) api.UpdateStage {
	out := api.UpdateStage{Name: s.Name, MaxConcurrency: "1"}
	if s.MaxConcurrency != nil {
		out.MaxConcurrency = strict.CountOrPercent(s.MaxConcurrency.String())
	}
	approval := []api.GateConfiguration{{Type: api.GateApproval}}
	if len(s.BeforeStageTasks) > 0 {
		out.BeforeGates = approval
	}
	for _, task := range s.AfterStageTasks {
		switch {
		case task.Type == api.TaskApproval:
			out.AfterGates = approval
		case task.WaitTime != nil:
			out.AfterStageWaitInSeconds = int32((task.WaitTime.Duration + time.Second - 1) / time.Second)
		}
	}
	if check != "" {
		out.AfterGates = append(slices.Clip(out.AfterGates), api.GateConfiguration{Type: api.GateCheck, DisplayName: "rollout check " + check})
	}
	return out
}

// ready refuses a run whose placement cannot be rolled out in stages, or not yet.
func (v *View) ready(run *api.StagedUpdateRun) *api.Refusal {
	refuse := func(code, next, format string, args ...any) *api.Refusal {
		return &api.Refusal{Code: code, Message: fmt.Sprintf(format, args...), Next: next}
	}
	p := v.Placement
	switch {
	case p == nil || p.DeletionTimestamp != nil:
		return refuse(api.CodeRunNotFound, "flotilla get placements", "there is no placement %s to bring to members", run.Placement())
	case !p.External():
		return refuse(api.CodeInvalidState, "flotilla explain placement.spec.strategy.type",
			"placement %s rolls out by itself, spec.strategy.type %s; a staged run needs type %s", p.Key(), p.Spec.Strategy.Type, api.StrategyExternal)
	case v.Strategy == nil:
		return refuse(api.CodeRunNotFound, "flotilla get "+strategies(run), "there is no strategy %s", run.Strategy())
	case v.schedule() == nil || v.Schedule.Generation < p.Generation:
		return refuse(api.CodeInvalidState, typed(p.Key(), "why"), "placement %s has not been scheduled yet", p.Key())
	case !v.Schedule.Fulfilled:
		return refuse(api.CodeInvalidState, typed(p.Key(), "why"), "placement %s is not fully scheduled: %s", p.Key(), v.Schedule.Message)
	}
	return nil
}

func strategies(run *api.StagedUpdateRun) string {
	if run.Namespace != "" {
		return "stagedupdatestrategies -n " + run.Namespace
	}
	return "clusterstagedupdatestrategies"
}

// typed is a command about a placement.
func typed(placement, verb string) string {
	for i := range placement {
		if placement[i] == '/' {
			return "flotilla " + verb + " rp/" + placement[i+1:] + " -n " + placement[:i]
		}
	}
	return "flotilla " + verb + " placement/" + placement
}

// chosen is the snapshot that the run brings: the one it names, or the newest.
func (v *View) chosen(run *api.StagedUpdateRun) (*api.Snapshot, *api.Refusal) {
	index, _ := strconv.ParseInt(run.Spec.ResourceSnapshotIndex, 10, 64)
	next := typed(v.Placement.Key(), "rollout history")
	found := v.snapshot(index)
	switch {
	case found == nil && index == 0:
		return nil, &api.Refusal{Code: api.CodeInvalidState, Message: fmt.Sprintf("placement %s has no revision yet", v.Placement.Key()), Next: next}
	case found == nil:
		return nil, &api.Refusal{Code: api.CodeInvalidArgument, Message: fmt.Sprintf("placement %s keeps no revision %d", v.Placement.Key(), index), Next: next}
	case found.Error != "":
		return nil, &api.Refusal{Code: api.CodeInvalidState, Message: fmt.Sprintf("revision %d of placement %s holds nothing: %s", found.Index, v.Placement.Key(), found.Error), Next: next}
	}
	if refusal := v.refused(found.Index); refusal != nil {
		return nil, refusal
	}
	return found, nil
}

// shownMembers is how many members a refusal names.
const shownMembers = 10

func misplaced(run, what string, members []string) *api.Refusal {
	slices.Sort(members)
	return &api.Refusal{
		Code: api.CodeInvalidArgument, Members: members, Next: "flotilla get members --show-labels",
		Message: fmt.Sprintf("run %s: %s: %s", run, what, phrase.Names(members, shownMembers)),
	}
}
