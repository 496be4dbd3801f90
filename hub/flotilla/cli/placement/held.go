package placement

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
	"flotilla/hub/flotilla/cli/resource"
)

// placementOf is the status of a placement, empty while it has none.
func placementOf(obj *unstructured.Unstructured) *api.PlacementStatus {
	if status := resource.Into[api.Placement](obj).Status; status != nil {
		return status
	}
	return &api.PlacementStatus{}
}

// standsStill says that no member advanced within the progress deadline, as judged of the present
// generation.
func standsStill(obj *unstructured.Unstructured) bool {
	met, _ := resource.ConditionTest(api.ConditionRolloutProgressing, "False")(obj)
	return met
}
