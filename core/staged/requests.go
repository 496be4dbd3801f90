package staged

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/stage"
)

// Conditions of approval requests, KubeFleet's.
const (
	ConditionApproved = "Approved"
	conditionAccepted = "ApprovalAccepted"
	reasonAccepted    = "ApprovalRequestApprovalAccepted"
)

// sides are the words for a side of a stage in the names of approval requests, by timing.
var sides = map[string]string{api.TimingBefore: "before", api.TimingAfter: "after"}

// Requests are the approval requests of a run: one for each gate that it has come to.
func Requests(status *api.UpdateRunStatus) []api.ApprovalRequest {
	if status.Content == nil {
		return nil
	}
	var out []api.ApprovalRequest
	for _, gate := range stage.Gates(status) {
		if gate.Spec.GateType == api.GateApproval {
			out = append(out, request(status, &gate))
		}
	}
	return out
}

func request(status *api.UpdateRunStatus, gate *api.Gate) api.ApprovalRequest {
	at := gate.Spec.Target
	namespace, run := "", status.Run
	if i := strings.IndexByte(run, '/'); i >= 0 {
		namespace, run = run[:i], run[i+1:]
	}
	r := api.ApprovalRequest{Spec: api.ApprovalRequestSpec{TargetUpdateRun: run, TargetStage: at.Stage}}
	r.APIVersion, r.Kind = api.GroupPlacement+"/v1", api.KindClusterApprovalRequest
	if namespace != "" {
		r.Kind = api.KindApprovalRequest
	}
	r.Name, r.Namespace, r.Generation, r.CreationTimestamp = RequestName(run, sides[at.Timing], at.Stage), namespace, 1, gate.Status.StartTime
	if gate.Status.State == api.StateCompleted {
		told := api.ApprovalCondition{Status: metav1.ConditionTrue, ObservedGeneration: 1, LastTransitionTime: gate.Status.CompletedTime}
		approved, accepted := told, told
		approved.Type, approved.Reason = ConditionApproved, ConditionApproved
		accepted.Type, accepted.Reason = conditionAccepted, reasonAccepted
		r.Status.Conditions = []api.ApprovalCondition{approved, accepted}
	}
	return r
}

// Approves says whether a request that somebody applied approves: its condition Approved is True, and not of another
// generation than the one there is.
func Approves(r *api.ApprovalRequest) bool {
	for _, c := range r.Status.Conditions {
		if c.Type == ConditionApproved && c.Status == metav1.ConditionTrue && c.ObservedGeneration <= 1 {
			return true
		}
	}
	return false
}

// GateOf is the gate that an applied request approves, "prod/before/Approval", and whether it is approved already. What
// names no request of the run is refused, and so is one that approves nothing.
func GateOf(r *api.ApprovalRequest, status *api.UpdateRunStatus) (gate string, already bool, refusal *api.Refusal) {
	refuse := func(code, format string, args ...any) *api.Refusal {
		return &api.Refusal{Code: code, Message: fmt.Sprintf(format, args...), Next: "flotilla get csur"}
	}
	if status == nil || status.Content == nil {
		return "", false, refuse(api.CodeRunNotFound, "there is no staged run %s that could be approved", api.Keyed(r.Namespace, r.Spec.TargetUpdateRun))
	}
	if !Approves(r) {
		return "", false, refuse(api.CodeInvalidArgument, "of %s only the condition Approved counts, in its status, with status \"True\"; the hub makes and removes the requests", r.Name)
	}
	for _, g := range stage.Gates(status) {
		at := g.Spec.Target
		if g.Spec.GateType == api.GateApproval && RequestName(status.Run, sides[at.Timing], at.Stage) == r.Name && at.Stage == r.Spec.TargetStage {
			return at.Stage + "/" + sides[at.Timing] + "/" + g.Spec.GateType, g.Status.State == api.StateCompleted, nil
		}
	}
	return "", false, refuse(api.CodeRunNotFound, "run %s has come to no approval %s of stage %s", status.Run, r.Name, r.Spec.TargetStage)
}
