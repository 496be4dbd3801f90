package health

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/status"
)

func placement(in status.Input) ([]api.Problem, bool) {
	now := status.Aggregate(in)
	return Placement(in, &now)
}

// A placement tells of what is not scheduled and of a snapshot that holds nothing; what is only fresh is no problem yet.
func TestPlacement(t *testing.T) {
	of := func(namespace string) api.Placement {
		p := api.Placement{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace, UID: "u", Generation: 1, CreationTimestamp: before(time.Hour)}}
		p.Kind = api.KindClusterResourcePlacement
		p.Spec.ResourceSelectors = []api.ResourceSelector{{Version: "v1", Kind: "Namespace", Name: "shop"}}
		return p
	}
	two := int32(2)
	in := status.Input{
		Placement: of(""), Now: noon, JudgeFrom: noon, Latest: &api.Snapshot{Created: before(time.Hour)},
		Schedule: &api.Schedule{UID: "u", Generation: 1, Want: &two, Message: "found 1 cluster(s)", Bindings: []api.Binding{{Member: "berlin"}}},
	}
	problems, converging := placement(in)
	require.True(t, converging)
	require.Equal(t, []string{
		"placement/web NothingSelected: " + in.Placement.Spec.ResourceSelectors[0].SelectsNothing(0, api.OnTheHub) + " -> flotilla describe placement/web",
		"placement/web SchedulingPolicyUnfulfilled: found 1 cluster(s) -> flotilla why placement/web",
	}, told(problems))

	in.Latest.Manifests, in.Placement = []api.Manifest{{}}, of("shop")
	problems, _ = placement(in)
	require.Equal(t, []string{"placement/shop/web SchedulingPolicyUnfulfilled: found 1 cluster(s) -> flotilla why rp/web -n shop"}, told(problems))

	in.Schedule = nil
	problems, converging = placement(in)
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

// A record tells that all is well only of what it is about, and only where every member is.
func TestCalm(t *testing.T) {
	in := func() status.Input {
		p := api.Placement{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "u", Generation: 2, CreationTimestamp: before(time.Hour)}}
		p.Spec.ResourceSelectors = []api.ResourceSelector{{Version: "v1", Kind: "Namespace", Name: "shop"}}
		return status.Input{
			Placement: p, Now: noon, JudgeFrom: noon, Latest: &api.Snapshot{UID: "u", Index: 3, Created: before(time.Hour), Manifests: []api.Manifest{{}}},
			Schedule: &api.Schedule{UID: "u", Generation: 2, Fulfilled: true, Bindings: []api.Binding{{Member: "berlin"}}},
			Release: &api.Release{Placement: "web", Entries: []api.ReleaseEntry{
				{Member: "berlin", UID: "u", Generation: 2, Snapshot: 3, Since: before(time.Hour)},
			}},
			Members: map[string]status.Member{"berlin": {State: api.MemberReady}},
			Results: map[string]*api.PlacementResult{"berlin": {
				Member: "berlin", Placement: "web", UID: "u", Generation: 2, Snapshot: 3, Applied: "True", Available: "True", Changed: before(time.Minute),
			}},
		}
	}
	calm := func(before, after func(*status.Input)) bool {
		all := in()
		before(&all)
		record := status.Aggregate(all)
		all.Previous = &record
		after(&all)
		all.Results, all.Members = nil, nil
		return Calm(all)
	}
	asItIs := func(*status.Input) {}
	require.True(t, calm(asItIs, asItIs))
	for name, change := range map[string]func(*status.Input){
		"not applied":   func(in *status.Input) { in.Results["berlin"].Applied = "False" },
		"not available": func(in *status.Input) { in.Results["berlin"].Available = "False" },
		"silent":        func(in *status.Input) { in.Members["berlin"] = status.Member{State: api.MemberUnknown} },
		"unfulfilled":   func(in *status.Input) { in.Schedule.Fulfilled = false },
		"nothing":       func(in *status.Input) { in.Latest.Manifests = nil },
	} {
		require.False(t, calm(change, asItIs), name)
	}
	for name, change := range map[string]func(*status.Input){
		"another generation": func(in *status.Input) { in.Placement.Generation++ },
		"another snapshot":   func(in *status.Input) { in.Latest = &api.Snapshot{Index: 4, Manifests: in.Latest.Manifests} },
		"no record":          func(in *status.Input) { in.Previous = nil },
	} {
		require.False(t, calm(asItIs, change), name)
	}
}
