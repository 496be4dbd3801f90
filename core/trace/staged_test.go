package trace_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/trace"
)

// staged is a world of strategy External: a run brings snapshot 1 to berlin in its first stage, and to oslo behind a gate.
func staged() *world {
	w := newWorld()
	w.Placement.Spec.Strategy.Type = api.StrategyExternal
	w.Schedule.Bindings = []api.Binding{{Member: "berlin"}, {Member: "oslo"}}
	w.Release.Entries = w.Release.Entries[:1]
	w.Release.Entries[0].Since = metav1.NewTime(noon.Add(20 * time.Second))
	w.Past = w.Past[:3]
	w.Stored.Release = at(20_030)
	k := w.known["berlin"]
	k.Commands[0].Stored, k.Stored = at(20_040), at(20_400)
	k.Result.Times.Received = at(20_050).UnixMilli()
	since := func(seconds int) metav1.Time { return metav1.NewTime(noon.Add(time.Duration(seconds) * time.Second)) }
	group := func(state api.UpdateState, member string, started metav1.Time) []api.GroupStatus {
		return []api.GroupStatus{{Name: "default", Status: api.UpdateStatus{State: state, StartTime: started}, Members: []api.MemberUpdateStatus{
			{Name: member, Status: api.UpdateStatus{State: state, StartTime: started}},
		}}}
	}
	w.Run = &api.UpdateRunStatus{
		Run: "autumn", Status: api.UpdateStatus{State: api.StateRunning, StartTime: since(5)}, Content: &api.ContentRun{Snapshot: 1},
		Stages: []api.StageStatus{
			{
				Name: "test", Status: api.UpdateStatus{State: api.StateCompleted, StartTime: since(5)}, Groups: group(api.StateCompleted, "berlin", since(20)),
				BeforeGates: []api.GateStatus{{
					Type: "Approval", ApprovedBy: "olaf", Status: api.UpdateStatus{State: api.StateCompleted, StartTime: since(5), CompletedTime: since(20)},
				}},
			},
			{
				Name: "prod", Status: api.UpdateStatus{State: api.StatePending, StartTime: since(30)}, Groups: group(api.StateNotStarted, "oslo", metav1.Time{}),
				BeforeGates: []api.GateStatus{{Type: "Approval", GateID: "g1", Status: api.UpdateStatus{State: api.StatePending, StartTime: since(30)}}},
			},
		},
	}
	return w
}

// A staged run says what a member waits for, and of one that it came to how long the gate was closed.
func TestWaitsOfStagedRunsAreNamed(t *testing.T) {
	w := staged()
	members := trace.Of(w.Input).Members
	require.Equal(t, "oslo", members[0].Member)
	require.Equal(t, `apply 10 +0 latest: snapshot 1, by anna
snapshot 10 +0: snapshot 1
schedule 20 +10 latest: picked
run 5000 +4980 second: run autumn
gate waits: the gate before stage prod: waits for approval, gate g1
release pending
command pending
received pending
applied pending
available pending
reported pending`, text(&members[0]))
	require.Equal(t, `apply 10 +0 latest: snapshot 1, by anna
snapshot 10 +0: snapshot 1
schedule 20 +10 latest: picked
run 5000 +4980 second: run autumn
gate 20000 +15000 second: stage test; gate test/before/Approval waited 15s, approved by olaf
release 20030 +30 latest: snapshot 1
command 20040 +10: order 0.0.7
received 20050 +10
applied 20150 +100
available 20350 +200
reported 20400 +50`, text(&members[1]))

	w.Run.Status = api.UpdateStatus{State: api.StateNotStarted}
	require.Contains(t, text(&trace.Of(w.Input).Members[0]), "run waits: run autumn was not started")
	w.Run = nil
	require.Contains(t, text(&trace.Of(w.Input).Members[0]), "run waits: no staged run brings snapshot 1: its strategy is External")
}
