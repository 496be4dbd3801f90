package resource

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
	"flotilla/core/plan"
)

// runKinds are the kinds of runs that have an end to expect.
var runKinds = map[string]bool{api.KindUpdateRun: true, api.KindClusterStagedUpdateRun: true, api.KindStagedUpdateRun: true}

// AddETAs asks the hub when the active runs among objects are expected to end, and notes it on
// them. What it cannot tell is left out: an expectation is no reason to fail.
func (a *Client) AddETAs(ctx context.Context, objects []*unstructured.Unstructured) {
	active := map[string]*unstructured.Unstructured{}
	var names []string
	for _, obj := range objects {
		state, _, _ := unstructured.NestedString(obj.Object, "status", "status", "state")
		if name := api.Keyed(obj.GetNamespace(), obj.GetName()); runKinds[obj.GetKind()] && GoesOn(api.UpdateState(state)) {
			active[name] = obj
			names = append(names, name)
		}
	}
	for _, run := range a.Expected(ctx, names) {
		if obj := active[run.Name]; obj != nil && run.ExpectedEnd != nil {
			obj.Object[FieldETA] = run.ExpectedEnd.UTC().Format(time.RFC3339)
		}
	}
}

// GoesOn says that a run in this state has an end to expect.
func GoesOn(state api.UpdateState) bool { return state.Active() || state == api.StateStopping }

// Expected plans stored runs as they stand; none without an answer.
func (a *Client) Expected(ctx context.Context, names []string) []plan.Run {
	if len(names) == 0 {
		return nil
	}
	var answer plan.Answer
	if err := a.Call(ctx, api.VerbPlan, api.PlanRequest{Runs: names}, &answer); err != nil {
		return nil
	}
	return answer.Runs
}

// FieldETA holds the expected end of a run where the command line has asked for it.
const FieldETA = "expectedEnd"
