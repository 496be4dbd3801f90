package upgrade_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/upgrade"
)

func at(d time.Duration) metav1.Time { return metav1.NewTime(benchNow.Add(d)) }

// finished is a run whose members took so long, each for every kind of upgrade.
func finished(took map[string]time.Duration) []api.UpdateRunStatus {
	pools := []api.PoolUpgrade{{Pool: "p", ToVersion: "1.29.9"}}
	var runs []api.UpdateRunStatus
	for name, d := range took {
		done := api.UpdateStatus{State: api.StateCompleted, StartTime: at(0), CompletedTime: at(d)}
		for _, m := range []api.MemberUpdateStatus{
			{Name: name, Status: done, ToVersion: "1.29.9", NodeImages: pools},
			{Name: name, Status: done, ToVersion: "1.29.9"},
			{Name: name, Status: done, NodeImages: pools},
		} {
			runs = append(runs, api.UpdateRunStatus{Stages: []api.StageStatus{{Groups: []api.GroupStatus{{Members: []api.MemberUpdateStatus{m}}}}}})
		}
	}
	return runs
}

func took(d map[string]time.Duration) upgrade.Durations { return upgrade.DurationsOf(finished(d)) }

// underWay plans a run of four members one by one, two of which are done and one of which runs.
func underWay(t *testing.T, edit func(*upgrade.View, *upgrade.Assumptions)) upgrade.RunPlan {
	t.Helper()
	s := newScene(t)
	s.fixture(nil, "")
	s.members(nil, "a,b,c,d group=g")
	run := &api.UpdateRun{ObjectMeta: metav1.ObjectMeta{Name: "r", UID: "r"}, Spec: api.UpdateRunSpec{
		Upgrade: api.Upgrade{Type: api.UpgradeControlPlaneOnly, KubernetesVersion: "1.29.9"},
	}}
	require.Nil(t, s.create(run))
	_, refusal := s.operate("r", api.VerbRunStart, &api.RunRequest{})
	require.Nil(t, refusal)
	s.until(s.now.Add(25 * time.Minute)) // an operation takes ten minutes there
	status := s.runs["r"].status
	require.Equal(t, 2, status.Finished)
	view, assume := s.view("r"), upgrade.Assumptions{}
	if edit != nil {
		edit(&view, &assume)
	}
	return upgrade.Plan([]upgrade.PlannedRun{{Run: run, Status: &status}}, view, s.now, assume).Runs[0]
}

func bases(p upgrade.RunPlan) map[string]string {
	out := map[string]string{}
	for _, m := range p.Members {
		if m.Expected != nil {
			out[m.Name] = m.Expected.Basis + " " + m.Expected.Duration.Duration.String()
		}
	}
	return out
}

// What a run's own members took is the best that is known of the rest of it; then what the member took
// before, then what others took, then nothing is known.
func TestExpectedDurationsRestOnTheRunItselfFirst(t *testing.T) {
	long := took(map[string]time.Duration{"c": time.Hour, "d": 2 * time.Hour})
	p := underWay(t, func(_ *upgrade.View, a *upgrade.Assumptions) { a.History = long })
	require.Equal(t, map[string]string{"c": "Run 10m0s", "d": "Run 10m0s"}, bases(p))
	require.Equal(t, p.Members[0].Start.Add(40*time.Minute).UTC(), p.ExpectedEnd.Time)

	fresh := func(a upgrade.Assumptions) map[string]string {
		run, _, view := silentPair(t, "1.29.2")
		return bases(upgrade.Plan([]upgrade.PlannedRun{{Run: run}}, view, benchNow, a).Runs[0])
	}
	require.Equal(t, map[string]string{"a": "Member 1h0m0s", "b": "Fleet 1h0m0s"}, fresh(upgrade.Assumptions{History: took(map[string]time.Duration{"a": time.Hour})}))
	require.Equal(t, map[string]string{"a": "Default 20m0s", "b": "Default 20m0s"}, fresh(upgrade.Assumptions{}))
	require.Equal(t, map[string]string{"a": "Given 7m0s", "b": "Given 7m0s"}, fresh(upgrade.Assumptions{Duration: 7 * time.Minute, History: long}))
}

// Attempts that failed, or whose results came too late to tell when they ended, say nothing of how long an
// upgrade takes; of the others the one in the middle counts, each kind by itself.
func TestDurationsAreMediansByKind(t *testing.T) {
	member := func(to string, took ...time.Duration) api.MemberUpdateStatus {
		m := api.MemberUpdateStatus{Name: "a", ToVersion: to, Status: api.UpdateStatus{State: api.StateFailed, StartTime: at(0), CompletedTime: at(9 * time.Hour)}}
		if to == "" {
			m.NodeImages = []api.PoolUpgrade{{Pool: "p", To: "image"}}
		}
		for _, d := range took {
			m.History = append(m.History, api.UpgradeAttempt{State: api.StateCompleted, Started: at(0), Ended: at(d)})
		}
		m.History = append(m.History, api.UpgradeAttempt{State: api.StateFailed, Started: at(0), Ended: at(8 * time.Hour)},
			api.UpgradeAttempt{State: api.StateCompleted, Started: at(0), Ended: at(8 * time.Hour), Late: true})
		return m
	}
	group := api.GroupStatus{Members: []api.MemberUpdateStatus{member("1.29.9", 10*time.Minute, 20*time.Minute, 50*time.Minute), member("", time.Minute)}}
	known := upgrade.DurationsOf([]api.UpdateRunStatus{{Stages: []api.StageStatus{{Groups: []api.GroupStatus{group}}}}})
	run, _, view := silentPair(t, "1.29.2")
	run.Spec.Upgrade.Type = api.UpgradeControlPlaneOnly
	p := upgrade.Plan([]upgrade.PlannedRun{{Run: run}}, view, benchNow, upgrade.Assumptions{History: known}).Runs[0]
	require.Equal(t, map[string]string{"a": "Member 20m0s", "b": "Fleet 20m0s"}, bases(p))
}

// Nobody knows how long a stranger works on a member, and the plan says so rather than guess.
func TestAStrangersOperationHasNoKnownEnd(t *testing.T) {
	p := underWay(t, func(v *upgrade.View, _ *upgrade.Assumptions) {
		d, _ := v.Fleet.Member("d")
		inventory := d.Inventory
		inventory.CurrentOperation = "repair-7"
		require.NoError(t, v.Fleet.Observe("d", inventory))
	})
	require.Equal(t, "Pending", p.State)
	require.Nil(t, p.ExpectedEnd)
	require.Equal(t, []string{"member d: OperationInProgress: waits for an operation of somebody else (repair-7), end unknown"}, p.WaitsFor)
	require.Equal(t, "somebody else (repair-7)", p.Members[3].HeldBy)
	require.Nil(t, p.Members[3].HeldUntil)
}

// The end of another run's operation is expected as that run expects it, and that of a disruption as long
// after its beginning as those that ended took.
func TestOperationsOfOthersEndAsTheirKindDoes(t *testing.T) {
	other := finished(map[string]time.Duration{"x": 30 * time.Minute, "y": 30 * time.Minute})[0]
	other.Run, other.UID = "other", "other"
	group := &other.Stages[0].Groups[0]
	busy := group.Members[0]
	busy.Name, busy.OperationID = "d", "other/d/1"
	busy.Status = api.UpdateStatus{State: api.StateRunning, StartTime: at(time.Hour)}
	group.Members = append([]api.MemberUpdateStatus{busy}, group.Members...)
	disruptions := []api.DisruptionRecord{{Member: "c", Disruptions: []api.Disruption{
		{Decided: at(0), Ended: at(10 * time.Minute)}, {Decided: at(0), Ended: at(20 * time.Minute)}, {Decided: at(2 * time.Hour)},
	}}}
	known := upgrade.Others{
		Runs: []api.UpdateRunStatus{other}, Disruptions: disruptions,
		Locks: []api.MemberLock{
			{Member: "d", Holder: "other/d/1", Owner: "run other"},
			{Member: "c", Holder: "disruption/c", Owner: "node disruption"},
			{Member: "e", Holder: "gone/e/1", Owner: "run gone"},
		},
	}
	fleet := upgrade.NewFleet(time.LoadLocation)
	require.Equal(t, map[string]time.Time{"d": benchNow.Add(90 * time.Minute), "c": benchNow.Add(2*time.Hour + 15*time.Minute)},
		known.Ends(fleet, upgrade.Assumptions{}))

	// What an agent says of itself counts where no lock is known.
	require.NoError(t, fleet.Set(upgrade.MemberFacts{Name: "d", UID: "uid-d", Inventory: api.MemberInventory{CurrentOperation: "other/d/1"}}))
	require.NoError(t, fleet.Set(upgrade.MemberFacts{Name: "f", UID: "uid-f", Inventory: api.MemberInventory{CurrentOperation: "somebody/f/1"}}))
	known.Locks = nil
	require.Equal(t, map[string]time.Time{"d": benchNow.Add(90 * time.Minute)}, known.Ends(fleet, upgrade.Assumptions{}))

	until := benchNow.Add(3 * 24 * time.Hour)
	p := underWay(t, func(v *upgrade.View, a *upgrade.Assumptions) {
		v.Locks = map[string]string{"d": "run other"}
		a.Ends = map[string]time.Time{"d": until}
	})
	require.Equal(t, "Completed", p.State)
	require.Equal(t, until, p.Members[3].Start.Time, "it starts when the other one is expected to let go")
	require.Equal(t, "run other", p.Members[3].HeldBy)
	require.Equal(t, until, p.Members[3].HeldUntil.Time)
}
