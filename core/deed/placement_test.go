package deed

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// Somebody may go back to every revision but the newest one and those whose content was never known.
func TestRevisionsThatMayBeGoneBackTo(t *testing.T) {
	past := []api.Revision{{Revision: 1, Objects: 2}, {Revision: 2, Error: "no such kind"}, {Revision: 3, Objects: 1}, {Revision: 4}}
	d, ask := deedOf(t, "undo", map[string][]string{"object": {"placement/web"}, "revision": {"3"}}), &api.RolloutRequest{}
	d.Revisions(past, ask)
	require.EqualValues(t, 3, ask.Revision)
	require.Equal(t, []Option{{"1", "1, made 0001-01-01 00:00Z, 2 objects"}, {"3", "3, made 0001-01-01 00:00Z, 1 object"}}, d.Choices[0].Options)

	d = deedOf(t, "undo", map[string][]string{"object": {"placement/web"}})
	d.Revisions(past[3:], ask)
	require.Empty(t, d.Choices)
	require.Zero(t, ask.Revision)
	d.Revisions(nil, ask)
	require.Empty(t, d.Choices)
}

// An undo concerns all members that were picked, all else those that have not got there.
func TestWhomASteeredRolloutConcerns(t *testing.T) {
	placement := &api.Placement{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Status: &api.PlacementStatus{
		Counts:  api.PlacementCounts{Picked: 9, Current: 3, Available: 2},
		Rollout: &api.Rollout{Message: "waits for oslo", HeldUpBy: []api.HeldUp{{ClusterName: "oslo", Message: "is away"}}},
	}}
	for action, want := range map[string]int{api.ActionPaused: 6, api.ActionResumed: 6, api.ActionUndone: 9, api.ActionFollowing: 9} {
		d := deedOf(t, "resume", map[string][]string{"object": {"placement/web"}})
		require.NoError(t, d.Steered(&api.RolloutResponse{Action: action}, d.Rollout(), placement))
		require.Equal(t, want, d.Members, action)
		require.Contains(t, d.Plan, "9 members picked, 3 have the newest revision, 2 are available")
		require.Equal(t, []string{"waits for oslo", "oslo: is away"}, d.Held)
	}
	d := deedOf(t, "resume", map[string][]string{"object": {"placement/web"}})
	require.Equal(t, Outcome{Said: "placement/web: resumed."}, d.RolloutOutcome(&api.RolloutResponse{Action: api.ActionResumed}))
}

func TestAWithdrawalIsApprovedOfAMemberOrAPlacement(t *testing.T) {
	for object, want := range map[string]api.ApproveWithdrawalRequest{
		"member/a":           {DryRun: true, Member: "a"},
		"placement/web":      {DryRun: true, Placement: api.ObjectRef{APIVersion: "placement.kubernetes-fleet.io/v1beta1", Kind: api.KindClusterResourcePlacement, Name: "web"}},
		"placement/shop/web": {DryRun: true, Placement: api.ObjectRef{APIVersion: "placement.kubernetes-fleet.io/v1beta1", Kind: api.KindResourcePlacement, Namespace: "shop", Name: "web"}},
	} {
		d := deedOf(t, "approve-withdrawal", map[string][]string{"object": {object}})
		require.Equal(t, &want, d.Withdrawal())
		require.Equal(t, "The withdrawal of "+object+" goes on.", d.WithdrawalOutcome(&api.ApproveWithdrawalResponse{Of: object}).Said)
	}
}

func TestEventsAreTypedAsTheyAre(t *testing.T) {
	for _, c := range []struct {
		ask  api.EventsRequest
		want string
	}{
		{api.EventsRequest{}, "flotilla events"},
		{api.EventsRequest{Object: "run/spring", Member: "oslo", By: "anna b"}, "flotilla events run/spring --member oslo --by 'anna b'"},
		{api.EventsRequest{Object: "placement/web"}, "flotilla events placement/web"},
		{api.EventsRequest{Object: "placement/shop/web"}, "flotilla events rp/web -n shop"},
		{api.EventsRequest{Object: "run/shop/web-1"}, "flotilla events run/web-1 -n shop"},
		{api.EventsRequest{Object: "object/ConfigMap/shop/a"}, "flotilla events configmap/a -n shop"},
		{api.EventsRequest{Object: "object/NodePool/a"}, "flotilla events nodepool/a"},
		{api.EventsRequest{Object: "object/odd"}, "flotilla events object/odd"},
		{api.EventsRequest{By: "anna"}, "flotilla events --by anna"},
	} {
		require.Equal(t, c.want, Events(&c.ask))
	}
}
