package why_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/schedule"
	"flotilla/core/why"
)

func TestUnknownIsWhatNeitherFleetNorPolicyNames(t *testing.T) {
	in := schedule.Input{Fleet: schedule.NewFleet(api.Member{Name: "berlin"}), Policy: &api.Policy{PlacementType: api.PickFixed, ClusterNames: []string{"later"}}}
	require.Nil(t, why.Unknown(in, "berlin"))
	require.Nil(t, why.Unknown(in, "later"), "a name that the policy gives is explained")
	require.Equal(t, "no member berlim, did you mean berlin?", why.Unknown(in, "berlim").Message)
	require.Equal(t, "no member nowhere", why.Unknown(schedule.Input{}, "nowhere").Message)
}
