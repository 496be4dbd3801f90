package deed_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/deed"
	"flotilla/core/overview"
)

func TestWhatWaitsForPeople(t *testing.T) {
	at := func(hour int) metav1.Time { return metav1.NewTime(time.Date(2026, 11, 20, hour, 0, 0, 0, time.UTC)) }
	gate := func(run string, state api.UpdateState, since metav1.Time) api.Gate {
		g := api.Gate{Status: api.UpdateStatus{State: state, StartTime: since}}
		g.Spec = api.GateSpec{DisplayName: "owners", GateType: api.GateApproval, Target: api.GateTarget{Run: run, Stage: "prod", Timing: api.TimingBefore}}
		return g
	}
	fleet := &overview.Fleet{
		Status: api.FleetStatus{Frozen: []api.Freeze{{Scope: api.FreezeRuns, By: "anna", Reason: "sale", Since: at(3)}, {Scope: api.FreezeOf("oslo"), By: "ben", Since: at(1)}}},
		Placements: []overview.Placement{
			{Key: "fine", State: "Available"},
			{Key: "held", Hold: overview.Hold{Held: true}, Message: "too much", Since: at(2)},
			{Key: "shop/paused", Hold: overview.Hold{Paused: &api.Pause{By: "anna", Since: at(4)}}},
			{Key: "frozen", Hold: overview.Hold{Paused: &api.Pause{By: "anna", Since: at(4)}, Frozen: "placements"}},
			{Key: "stalled", State: "RolloutProgressing=False", Message: "no member advanced", Progress: overview.Progress{Waits: "waits for oslo"}, Since: at(1)},
		},
		Runs: []overview.Run{
			{Key: "spring", State: api.StateNotStarted, Target: "Full to 1.31", Created: at(1)},
			{Key: "winter", State: api.StateRunning},
		},
		Members: []overview.Member{{Name: "in", Membership: overview.Membership{Admitted: true}}, {Name: "new", Message: "nobody admitted it", Since: at(6)}},
	}
	gates := []api.Gate{gate("b", api.StatePending, at(5)), gate("a", api.StatePending, at(3)), gate("done", api.StateCompleted, at(1))}
	require.Equal(t, []deed.Todo{
		{Sign: overview.Waiting, Object: "run/a", What: "gate waits", Message: "prod/before/Approval owners", Since: at(3), Do: "approve", Verb: api.VerbRunApprove, Gate: "prod/before/Approval"},
		{Sign: overview.Waiting, Object: "run/b", What: "gate waits", Message: "prod/before/Approval owners", Since: at(5), Do: "approve", Verb: api.VerbRunApprove, Gate: "prod/before/Approval"},
		{Sign: overview.Warn, Object: "placement/held", What: "withdrawal held", Message: "too much", Since: at(2), Do: "approve-withdrawal", Verb: api.VerbApproveWithdrawal},
		{Sign: overview.Bad, Object: "placement/stalled", What: "rollout stands still", Message: "waits for oslo", Since: at(1)},
		{Sign: overview.Waiting, Object: "placement/shop/paused", What: "rollout paused", Message: "paused by anna since 2026-11-20T04:00:00Z", Since: at(4), Do: "resume", Verb: api.VerbRolloutResume},
		{Sign: overview.Waiting, Object: "run/spring", What: "run not started", Message: "Full to 1.31", Since: at(1), Do: "start", Verb: api.VerbRunStart},
		{Sign: overview.Waiting, Object: "member/new", What: "member joins", Message: "nobody admitted it", Since: at(6), Do: "admit", Verb: api.VerbAdmit},
		{Sign: overview.Waiting, Object: "member/oslo", What: "frozen", Message: "by ben: ", Since: at(1), Do: "unfreeze", Verb: api.VerbUnfreeze},
		{Sign: overview.Waiting, Object: "fleet/runs", What: "frozen", Message: "by anna: sale", Since: at(3), Do: "unfreeze", Verb: api.VerbUnfreeze},
	}, deed.TodoOf(fleet, gates))
	require.Empty(t, deed.TodoOf(&overview.Fleet{}, nil))
}
