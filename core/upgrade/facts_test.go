package upgrade_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/upgrade"
)

func TestFactsOfAMember(t *testing.T) {
	seen := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	mc := &api.MemberCluster{ObjectMeta: metav1.ObjectMeta{
		Name: "berlin", UID: "u1", Labels: map[string]string{api.LabelUpdateGroup: "eu", "env": "prod"},
	}}
	record := &api.MemberRecord{
		UID: "u1", State: api.MemberReady, LastSeen: metav1.NewTime(seen), Labels: map[string]string{"env": "agent", "zone": "a"},
	}
	inventory := &api.MemberInventory{ControlPlaneVersion: "1.29.2", Region: "weu"}
	maintenance := &api.MemberMaintenance{Spec: api.MaintenanceConfiguration{AutoUpgrade: &api.MaintenanceWindow{StartTime: "02:00"}}}

	require.Equal(t, upgrade.MemberFacts{
		Name: "berlin", UID: "u1", Group: "eu", Eligible: true, Reachable: true, LastSeen: seen,
		Labels:    map[string]string{api.LabelUpdateGroup: "eu", "env": "prod", "zone": "a", api.LabelMemberName: "berlin"},
		Inventory: *inventory, Maintenance: &maintenance.Spec,
	}, upgrade.FactsOf(mc, record, inventory, maintenance))

	require.False(t, upgrade.FactsOf(mc, record, nil, nil).Reachable, "an agent that lists nothing cannot upgrade")
	require.Equal(t, upgrade.MemberFacts{
		Name: "berlin", UID: "u1", Group: "eu",
		Labels: map[string]string{api.LabelUpdateGroup: "eu", "env": "prod", api.LabelMemberName: "berlin"},
	}, upgrade.FactsOf(mc, nil, nil, nil))

	for state, want := range map[api.MemberState][2]bool{
		api.MemberReady: {true, true}, api.MemberNotReady: {true, true}, api.MemberUnknown: {true, false},
		api.MemberJoining: {false, false}, api.MemberLeaving: {false, false},
	} {
		record.State = state
		facts := upgrade.FactsOf(mc, record, inventory, nil)
		require.Equal(t, want, [2]bool{facts.Eligible, facts.Reachable}, state)
	}
	record.State, record.UID = api.MemberReady, "another"
	require.False(t, upgrade.FactsOf(mc, record, inventory, nil).Eligible, "the record is of a member that was")
	deleted := metav1.NewTime(seen)
	record.UID, mc.DeletionTimestamp = "u1", &deleted
	require.False(t, upgrade.FactsOf(mc, record, inventory, nil).Eligible)
	require.Equal(t, map[string]string{api.LabelUpdateGroup: "eu", "env": "prod"}, mc.Labels, "inputs stay as they are")
}
