package overview_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/core/plan"
)

// The row of a member says what its document and what the hub heard of it say.
func TestTheRowOfAMember(t *testing.T) {
	mc := &api.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "oslo", Labels: map[string]string{"region": "eu"}}}
	record := &api.MemberRecord{Name: "oslo", State: api.MemberReady, Message: "fine", KubernetesVersion: "v1.31.2", AgentVersion: "1.0", Nodes: 3}

	row := overview.MemberOf(mc, nil, "weu")
	require.Equal(t, overview.Member{
		Name: "oslo", State: api.MemberJoining, Region: "eu", Labels: mc.Labels, Membership: overview.Membership{Admitted: true},
	}, row, "nobody heard of it")

	row = overview.MemberOf(nil, record, "weu")
	require.Equal(t, overview.Member{
		Name: "oslo", State: api.MemberReady, Message: "fine", Region: "weu", Facts: overview.Facts{Version: "v1.31.2", Agent: "1.0", Nodes: 3},
	}, row, "nobody admitted it")

	record.Labels = map[string]string{"topology.kubernetes.io/region": "north", "region": "eu", "zone": "a"}
	record.Properties = map[string]string{
		api.PropertyNodeCount: "5", api.PropertyResourcePrefix + "available-cpu": "4", api.PropertyResourcePrefix + "available-memory": "8Gi",
	}
	row = overview.MemberOf(mc, record, "")
	require.Equal(t, []string{"north", "a", "4", "8Gi"}, []string{row.Region, row.Zone, row.CPU, row.Memory})
	require.Equal(t, 5, row.Nodes)
	require.Equal(t, record.Labels, row.Labels)
}

// A drain is a cordon that takes what is there away: a member is shown as one or the other.
func TestTaintsOfAMemberAreShown(t *testing.T) {
	for value, want := range map[string][2]bool{"": {true, false}, api.TaintDrain: {false, true}} {
		mc := &api.MemberCluster{Spec: api.MemberClusterSpec{Taints: []api.Taint{
			{Key: "full", Effect: api.EffectNoSchedule}, {Key: api.TaintCordoned, Value: value, Effect: api.EffectNoSchedule},
		}}}
		row := overview.MemberOf(mc, nil, "")
		require.Equal(t, want, [2]bool{row.Cordoned, row.Draining})
		require.Equal(t, []string{"full:NoSchedule", mc.Spec.Taints[1].String()}, row.Taints)
	}
	mc := &api.MemberCluster{Spec: api.MemberClusterSpec{Taints: []api.Taint{{Key: "full"}}}, ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{}}}
	row := overview.MemberOf(mc, nil, "")
	require.Equal(t, overview.Membership{Admitted: true, Leaving: true, Taints: row.Taints}, row.Membership)
}

// The row of a run says at which stage it is, how many failed there and what it waits for.
func TestTheRowOfARun(t *testing.T) {
	meta := &metav1.ObjectMeta{Namespace: "shop", Name: "spring"}
	row := overview.RunOf(api.KindStagedUpdateRun, meta, "target", nil)
	require.Equal(t, []any{"shop/spring", "not taken up yet", overview.Waiting, api.StateNotStarted, "target"}, []any{row.Key, row.Message, row.Sign, row.State, row.Target})

	gates := make([]api.GateStatus, 5)
	for i := range gates {
		gates[i] = api.GateStatus{Type: api.GateApproval, Status: api.UpdateStatus{State: api.StatePending}}
	}
	status := &api.UpdateRunStatus{
		Status: api.UpdateStatus{State: api.StateRunning}, Members: 7, Finished: 3, FailureCount: 2,
		Stages: []api.StageStatus{
			{Name: "test", Status: api.UpdateStatus{State: api.StateCompleted}, FailureCount: 1},
			{Name: "prod", Status: api.UpdateStatus{State: api.StateRunning}, FailureCount: 1, MaxAllowedFailures: 4},
		},
	}
	row = overview.RunOf(api.KindUpdateRun, meta, "target", status)
	require.Equal(t, "2/2 prod", row.Stage)
	require.Equal(t, []int{7, 3, 2, 1, 4, 0}, []int{row.Members, row.Finished, row.Failed, row.FailedHere, row.Tolerated, row.More()})
	require.Equal(t, overview.Warn, row.Sign, "somebody failed")
	status.FailureCount = 0
	require.Equal(t, overview.Moving, overview.RunOf(api.KindUpdateRun, meta, "", status).Sign)

	status.Stages[1].BeforeGates, status.Stages[1].Status.State = gates, api.StatePending
	status.Content = &api.ContentRun{Snapshot: 4, Placement: "shop/web"}
	row = overview.RunOf(api.KindStagedUpdateRun, meta, "target", status)
	require.Equal(t, "snapshot 4 of shop/web", row.Target)
	require.Len(t, row.Waits, 3, "a row names the first")
	require.Equal(t, []any{5, 2, row.Waits[0]}, []any{row.WaitsTotal, row.More(), row.Message})

	status.Status = api.UpdateStatus{State: api.StateFailed, Error: &api.UpdateError{Message: "policy changed"}}
	require.Equal(t, "policy changed", overview.RunOf(api.KindStagedUpdateRun, meta, "target", status).Message)
	status.Status.State = api.StateNotStarted
	row = overview.RunOf(api.KindStagedUpdateRun, meta, "target", status)
	require.Empty(t, row.Stage, "it did not start")
	require.Zero(t, row.Tolerated)
	status.Stages[1].Status.State, status.Status.State = api.StateCompleted, api.StateCompleted
	require.Empty(t, overview.StageOf(status), "all are done")
}

// Members may be skipped that are not upgraded right now and not done with, in runs that are not done.
func TestWhoMayBeSkipped(t *testing.T) {
	for _, c := range []struct {
		run, member api.UpdateState
		want        bool
	}{
		{api.StateRunning, api.StateNotStarted, true},
		{api.StateStopped, api.StatePending, true},
		{api.StateFailed, api.StateNotStarted, true},
		{api.StateRunning, api.StateRunning, false},
		{api.StateRunning, api.StateCompleted, false},
		{api.StateCompleted, api.StateNotStarted, false},
	} {
		run := overview.Run{State: c.run}
		require.Equal(t, c.want, run.MaySkip(c.member), "%s in %s", c.member, c.run)
	}
}

// The end of a run is told while the run goes on.
func TestARunThatGoesOnHasAnEnd(t *testing.T) {
	end := metav1.NewTime(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	told := &plan.Run{ExpectedEnd: &end, State: string(api.StateFailed)}
	run := overview.Run{Key: "spring", State: api.StateRunning}
	run.Finished, run.Failed = 5, 2
	require.Equal(t, overview.RunAhead{Run: run, Done: 3, Ends: end, Fails: true}, run.Ahead(told))
	require.Equal(t, overview.RunAhead{Run: run, Done: 3}, run.Ahead(nil))
	require.Equal(t, overview.RunAhead{Run: run, Done: 3}, run.Ahead(&plan.Run{State: told.State}))
	table := overview.RunTable([]overview.RunAhead{run.Ahead(told)})
	require.Equal(t, [][]string{{"spring", "", "Running", "", "0", "3", "2", "", "", "", "", "", "2026-11-20T12:00:00Z"}}, table.Rows)
	require.Len(t, table.Columns, len(table.Rows[0]))
	run.State = api.StateStopped
	require.Equal(t, overview.RunAhead{Run: run, Done: 3}, run.Ahead(told))
}

func TestTheRowOfAPlacementThatCannotBeRead(t *testing.T) {
	spec := &api.Spec{Object: api.ObjectRef{Kind: api.KindResourcePlacement, Namespace: "shop", Name: "web"}, Generation: 3}
	row := overview.Unreadable("shop/web", spec, errors.New("no JSON"))
	require.Equal(t, []any{"shop/web", "no JSON", overview.Bad, "Readable=False", false}, []any{row.Key, row.Fault, row.Sign, row.State, row.Deleting})
	spec.Deleted = &metav1.Time{}
	row = overview.Unreadable("shop/web", spec, errors.New("no JSON"))
	require.True(t, row.Deleting)
}

// The row of a placement names the first of those that hold it up.
func TestTheRowOfAPlacement(t *testing.T) {
	status := &api.PlacementStatus{ObservedSnapshot: "7", Paused: &api.Pause{Frozen: "placements"}, Rollout: &api.Rollout{
		Message: "waits", HeldUpTotal: 9, HeldUpBy: []api.HeldUp{{ClusterName: "a"}, {ClusterName: "b"}, {ClusterName: "c"}, {ClusterName: "d"}},
	}}
	row := overview.PlacementOf(&api.Placement{}, status)
	require.Equal(t, []any{"waits", 9, status.Rollout.HeldUpBy[:3], "placements", int64(7), false}, []any{row.Waits, row.HeldUpTotal, row.HeldUpBy, row.Frozen, row.Snapshot, row.Held})
	row.Counts.Want = -1
	require.Equal(t, "all", row.Wanted())
	row.Counts.Want = 0
	require.Equal(t, "0", row.Wanted())
}
