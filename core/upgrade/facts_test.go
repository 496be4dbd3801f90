package upgrade_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/upgrade"
)

func TestFactsOfAMember(t *testing.T) {
	seen := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	m := api.Member{Name: "m1", UID: "u1", Joined: "True", Labels: map[string]string{api.LabelUpdateGroup: "eu", "env": "prod"}}
	inventory := &api.MemberInventory{ControlPlaneVersion: "1.29.2"}
	schedules := &api.MaintenanceConfiguration{}
	require.Equal(t, upgrade.MemberFacts{
		Name: "m1", UID: "u1", Group: "eu", Labels: m.Labels, Eligible: true, Reachable: true, Inventory: *inventory, Maintenance: schedules,
	}, upgrade.FactsOf(&m, api.MemberReady, seen, inventory, schedules))

	away := upgrade.FactsOf(&m, api.MemberUnknown, seen, inventory, nil)
	require.True(t, away.Eligible, "a member that is away still belongs to new runs")
	require.False(t, away.Reachable)
	require.Equal(t, seen, away.LastSeen)
	require.False(t, upgrade.FactsOf(&m, api.MemberReady, seen, nil, nil).Reachable, "nothing is known of its versions")

	m.Leaving = true
	require.False(t, upgrade.FactsOf(&m, api.MemberLeaving, seen, inventory, nil).Eligible)
	m.Leaving, m.Joined = false, "False"
	require.False(t, upgrade.FactsOf(&m, api.MemberJoining, seen, inventory, nil).Eligible)
}
