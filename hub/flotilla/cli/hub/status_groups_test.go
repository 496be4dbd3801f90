package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/hub/flotilla/cli/clitest"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// grouped is what status prints of a fleet.
func grouped(t *testing.T, fleet overview.Fleet, o statusOptions) string {
	t.Helper()
	hub := clitest.Answering{
		api.VerbStatus: func(any) (any, error) { return api.FleetStatus{Fleet: "default", Leader: "hub-0", Term: 1}, nil },
		api.VerbFleet:  func(any) (any, error) { return fleet, nil },
	}
	var out bytes.Buffer
	a := commands{resource.New(session.New(session.Environment{
		Out: &out, Err: &out, Now: func() time.Time { return clitest.Now }, Getenv: func(string) string { return "" },
		Dial: func(context.Context, session.Connection) (session.Hub, error) { return hub, nil },
	}))}
	require.NoError(t, a.status(t.Context(), &o))
	return out.String()
}

func TestStatusGroupsMembers(t *testing.T) {
	fleet := overview.Fleet{Members: []overview.Member{
		{Name: "berlin", State: api.MemberReady, Region: "eu"},
		{Name: "lagos", State: api.MemberJoining},
		{Name: "oslo", State: api.MemberUnknown, Region: "eu"},
		{Name: "paris", State: api.MemberReady, Region: "eu", Membership: overview.Membership{Leaving: true}},
	}}
	for i := range 7 {
		fleet.Members = append(fleet.Members, overview.Member{Name: fmt.Sprintf("us%d", i), State: api.MemberNotReady, Region: "us"})
	}
	require.Contains(t, grouped(t, fleet, statusOptions{by: "region"}), `
REGION   MEMBERS   READY   NOTREADY   UNKNOWN   JOINING   LEAVING   NOT WELL
eu       3         1       -          1         -         1         ○ oslo and ↻ paris
us       7         -       7          -         -         -         ✖ us0, ✖ us1, ✖ us2, ✖ us3, ✖ us4 and 2 others
-        1         -       -          -         1         -         ‖ lagos
`)
	require.NotContains(t, grouped(t, fleet, statusOptions{}), "REGION")
	var told Status
	require.NoError(t, json.Unmarshal([]byte(grouped(t, fleet, statusOptions{by: "label:none", format: "json"})), &told))
	require.Len(t, told.Groups, 1)
	require.Equal(t, 11, told.Groups[0].Members)
	require.Equal(t, overview.Away, told.Groups[0].Worst)
	require.NotContains(t, grouped(t, fleet, statusOptions{format: "json"}), "groups")
}

func TestManyGroupsEndWithTheOthers(t *testing.T) {
	var fleet overview.Fleet
	for i := range overview.MaxGroups + 2 {
		name := fmt.Sprintf("m%02d", i)
		fleet.Members = append(fleet.Members, overview.Member{Name: name, State: api.MemberReady, Zone: name})
	}
	require.Regexp(t, `(?m)^m59 +1 .*\n2 others +2 +2 +- .*$`, grouped(t, fleet, statusOptions{by: "zone"}))
}
