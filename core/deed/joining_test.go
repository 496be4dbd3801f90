package deed

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
)

func TestWhatIsToldOfAMemberThatWantsToJoin(t *testing.T) {
	status := &api.MemberClusterStatus{
		OfferedLabels: map[string]string{"zone": "a", "region": "eu"}, Credentials: &api.AgentCredentials{Key: "UABC"},
	}
	require.Equal(t, &api.Joining{Key: "UABC", New: true, Offered: []string{"region", "zone"}}, JoiningOf(status))
	require.Equal(t, []string{
		"its agent is known by key UABC, which the agent logs when it enrols",
		"its agent asks for labels, and may set them: region=eu, zone=a",
	}, Joins(status))

	none := &api.MemberClusterStatus{}
	require.Equal(t, &api.Joining{New: true, Offered: []string{}}, JoiningOf(none), "none is not whichever")
	require.Equal(t, []string{
		"its agent registered no key: others made its credentials, or its token was not used", "its agent asks for no labels",
	}, Joins(none))
}
