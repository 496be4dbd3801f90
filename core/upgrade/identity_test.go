package upgrade_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/core/upgrade"
)

// A member whose agent had not reported when the run was frozen is the same member once it has; another
// one that took its name is not.
func TestAMemberThatReportsLaterStaysItself(t *testing.T) {
	for name, c := range map[string]struct {
		uid  string
		want api.UpdateState
	}{
		"the same member": {"uid-a", api.StateRunning},
		"another one":     {"uid-b", api.StateSkipped},
	} {
		fleet := upgrade.NewFleet(time.LoadLocation)
		silent := upgrade.MemberFacts{Name: "a", UID: "uid-a", Eligible: true}
		require.NoError(t, fleet.Set(silent))
		run := &api.UpdateRun{}
		run.Name, run.UID = "r", "uid-r"
		run.Spec.Upgrade = api.Upgrade{Type: api.UpgradeFull, KubernetesVersion: "1.29.9"}
		view := upgrade.View{Fleet: fleet}
		status, refusal := upgrade.Create(run, nil, view, benchNow)
		require.Nil(t, refusal)
		started, refusal := upgrade.Operate(run, &status, view, benchNow, api.VerbRunStart, &api.RunRequest{})
		require.Nil(t, refusal)
		waiting := &started.Status.Stages[0].Groups[0].Members[0]
		require.Equal(t, api.ReasonMemberUnreachable, waiting.Reason)

		heard := silent
		heard.UID, heard.Reachable = c.uid, true
		heard.Inventory = api.MemberInventory{ClusterResourceID: "cluster-1", ControlPlaneVersion: "1.29.2"}
		require.NoError(t, fleet.Set(heard))
		step := upgrade.Step(run, &started.Status, view, benchNow.Add(time.Minute))
		require.Equal(t, c.want, step.Status.Stages[0].Groups[0].Members[0].Status.State, name)
	}
}

// Nothing is known of what runs on a member without an inventory: it waits, and is not taken for one that
// has nothing to upgrade.
func TestImagesOfAMemberWithoutInventoryAreUnknown(t *testing.T) {
	fleet := upgrade.NewFleet(time.LoadLocation)
	require.NoError(t, fleet.Set(upgrade.MemberFacts{Name: "a", UID: "uid-a", Eligible: true}))
	run := &api.UpdateRun{}
	run.Name, run.UID = "r", "uid-r"
	run.Spec.Upgrade = api.Upgrade{Type: api.UpgradeNodeImageOnly}
	view := upgrade.View{Fleet: fleet}
	status, refusal := upgrade.Create(run, nil, view, benchNow)
	require.Nil(t, refusal)
	started, refusal := upgrade.Operate(run, &status, view, benchNow, api.VerbRunStart, &api.RunRequest{})
	require.Nil(t, refusal)
	member := started.Status.Stages[0].Groups[0].Members[0]
	require.Equal(t, api.StatePending, member.Status.State)
	require.Equal(t, api.ReasonMemberUnreachable, member.Reason)
}

// silentPair is a run of two members, one at a time, frozen before their agents reported; they have
// reported a version since.
func silentPair(t *testing.T, version string) (*api.UpdateRun, api.UpdateRunStatus, upgrade.View) {
	t.Helper()
	fleet := upgrade.NewFleet(time.LoadLocation)
	run := &api.UpdateRun{}
	run.Name, run.UID = "r", "uid-r"
	run.Spec.Upgrade = api.Upgrade{Type: api.UpgradeFull, KubernetesVersion: "1.29.9"}
	view := upgrade.View{Fleet: fleet}
	for _, name := range []string{"a", "b"} {
		require.NoError(t, fleet.Set(upgrade.MemberFacts{Name: name, UID: "uid-" + name, Eligible: true}))
	}
	status, refusal := upgrade.Create(run, nil, view, benchNow)
	require.Nil(t, refusal)
	for _, name := range []string{"a", "b"} {
		require.NoError(t, fleet.Set(upgrade.MemberFacts{
			Name: name, UID: "uid-" + name, Eligible: true, Reachable: true,
			Inventory: api.MemberInventory{ClusterResourceID: "cluster-" + name, ControlPlaneVersion: version},
		}))
	}
	return run, status, view
}

// Members that report between creation and start wait for their slot like any other.
func TestMembersThatReportLaterWaitForTheirSlot(t *testing.T) {
	run, status, view := silentPair(t, "1.29.2")
	started, refusal := upgrade.Operate(run, &status, view, benchNow, api.VerbRunStart, &api.RunRequest{})
	require.Nil(t, refusal)
	require.Len(t, started.Take, 1, "one at a time")
	explained := stage.Explained(&started.Status)
	second := explained.Stages[0].Groups[0].Members[1]
	require.Equal(t, api.StateNotStarted, second.Status.State)
	require.Equal(t, api.ReasonWaitsForSlot, second.Reason)
}

// The version rules hold for members that reported between creation and start (A51).
func TestPreflightHoldsForMembersThatReportLater(t *testing.T) {
	run, status, view := silentPair(t, "1.27.3")
	_, refusal := upgrade.Operate(run, &status, view, benchNow, api.VerbRunStart, &api.RunRequest{})
	require.NotNil(t, refusal)
	require.Equal(t, api.CodeIneligible, refusal.Code)
	require.Equal(t, []string{"a", "b"}, refusal.Members)
}
