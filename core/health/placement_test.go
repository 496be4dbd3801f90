package health

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/status"
)

// A placement tells of what is not scheduled and of a snapshot that holds nothing; what is only fresh is no problem yet.
func TestPlacement(t *testing.T) {
	placement := func(namespace string) api.Placement {
		p := api.Placement{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace, UID: "u", Generation: 1, CreationTimestamp: before(time.Hour)}}
		p.Kind = api.KindClusterResourcePlacement
		p.Spec.ResourceSelectors = []api.ResourceSelector{{Version: "v1", Kind: "Namespace", Name: "shop"}}
		return p
	}
	two := int32(2)
	in := status.Input{
		Placement: placement(""), Now: noon, JudgeFrom: noon, Latest: &api.Snapshot{Created: before(time.Hour)},
		Schedule: &api.Schedule{UID: "u", Generation: 1, Want: &two, Message: "found 1 cluster(s)", Bindings: []api.Binding{{Member: "berlin"}}},
	}
	problems, converging := Placement(in)
	require.True(t, converging)
	require.Equal(t, []string{
		"placement/web NothingSelected: " + in.Placement.Spec.ResourceSelectors[0].SelectsNothing(0, api.OnTheHub) + " -> flotilla describe placement/web",
		"placement/web SchedulingPolicyUnfulfilled: found 1 cluster(s) -> flotilla why placement/web",
	}, told(problems))

	in.Latest.Manifests, in.Placement = []api.Manifest{{}}, placement("shop")
	problems, _ = Placement(in)
	require.Equal(t, []string{"placement/shop/web SchedulingPolicyUnfulfilled: found 1 cluster(s) -> flotilla why rp/web -n shop"}, told(problems))

	in.Schedule = nil
	problems, converging = Placement(in)
	require.True(t, converging)
	require.Empty(t, problems, "nobody has looked at it yet")
}

func TestWhatHoldsARolloutUpIsSaidOnce(t *testing.T) {
	c := &metav1.Condition{Message: "1 of 2"}
	require.Equal(t, "1 of 2", heldUp(c, nil))
	require.Equal(t, "1 of 2; held up by rome", heldUp(c, &api.Rollout{Message: "held up by rome"}))
	c.Message = "1 of 2, held up by rome"
	require.Equal(t, "1 of 2, held up by rome", heldUp(c, &api.Rollout{Message: "held up by rome"}))
}

// The first failure names a member and an object, and how many more members there are.
func TestFirstFailure(t *testing.T) {
	failed := func(kind string) api.FailedPlacement {
		f := api.FailedPlacement{Condition: metav1.Condition{Type: kind, Message: "no"}}
		f.Kind, f.Name = "Deployment", "web"
		return f
	}
	now := &api.PlacementStatus{Counts: api.PlacementCounts{Failed: 3}, PlacementStatuses: []api.PerMemberStatus{
		{ClusterName: "rome", FailedPlacements: []api.FailedPlacement{failed("Available")}},
		{ClusterName: "oslo", FailedPlacements: []api.FailedPlacement{failed(api.ConditionApplied)}},
	}}
	problem, found := firstFailure(now)
	require.True(t, found)
	require.Equal(t, "Deployment/web on member oslo: no (and 2 more members)", problem.Message)
	now.PlacementStatuses = now.PlacementStatuses[:1]
	_, found = firstFailure(now)
	require.False(t, found)
}
