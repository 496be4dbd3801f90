package placement

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/show"
)

// placementStatusOf reads the status of a placement; nil when it has none.
func placementStatusOf(obj *unstructured.Unstructured) *api.PlacementStatus {
	status, found, _ := unstructured.NestedMap(obj.Object, "status")
	if !found {
		return nil
	}
	text, err := json.Marshal(status)
	if err != nil {
		return nil
	}
	var s api.PlacementStatus
	if json.Unmarshal(text, &s) != nil {
		return nil
	}
	return &s
}

// heldUpBy is the sentence about who holds a rollout up; empty when nobody does.
func heldUpBy(v show.View) string {
	if v.Number("status", "rollout", "heldUpTotal") == 0 {
		return ""
	}
	return v.Text("status", "rollout", "message")
}

// standsStill says that no member advanced within the progress deadline, as judged of the present
// generation.
func standsStill(obj *unstructured.Unstructured) bool {
	met, _ := resource.ConditionTest(api.ConditionRolloutProgressing, "False")(obj)
	return met
}
