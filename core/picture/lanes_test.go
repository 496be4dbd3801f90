package picture

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/core/plan"
)

func after(d time.Duration) metav1.Time { return metav1.NewTime(noon.Add(d)) }

func who(waitsFor string, n int) overview.Count { return overview.Count{Value: waitsFor, Members: n} }

func updates(state api.UpdateState, reason string, names ...string) (all []api.MemberUpdateStatus) {
	for _, name := range names {
		all = append(all, api.MemberUpdateStatus{Name: name, Status: api.UpdateStatus{State: state}, Reason: reason})
	}
	return all
}

// spring is a run that is done with its canary, goes on in prod/eu and waits for a gate before prod/us.
func spring() *api.UpdateRunStatus {
	gate := api.GateStatus{Type: api.GateApproval, GateID: "g1", DisplayName: "go?", Status: api.UpdateStatus{State: api.StatePending, StartTime: after(-time.Hour)}}
	eu := append(updates(api.StateCompleted, "", "e1", "e2"), updates(api.StateFailed, api.ReasonTimeout, "e3")...)
	eu = append(append(eu, updates(api.StateRunning, "", "e4")...), updates(api.StatePending, api.ReasonWindowClosed, "e5", "e6")...)
	eu = append(append(eu, updates(api.StateNotStarted, "", "e7")...), updates(api.StatePending, api.ReasonMemberUnreachable, "e8")...)
	running := api.UpdateStatus{State: api.StateRunning, StartTime: after(-2 * time.Hour)}
	return &api.UpdateRunStatus{
		Run: "spring", Status: api.UpdateStatus{State: api.StateRunning, StartTime: after(-24 * time.Hour)}, FailureCount: 1, Members: 12, Finished: 4,
		Stages: []api.StageStatus{
			{
				Name: "canary", MaxConcurrency: 1, Status: api.UpdateStatus{State: api.StateCompleted, StartTime: after(-24 * time.Hour), CompletedTime: after(-3 * time.Hour)},
				Groups: []api.GroupStatus{{Name: "canary", MaxConcurrency: 1, Members: updates(api.StateCompleted, "", "c1"), Status: api.UpdateStatus{State: api.StateCompleted, StartTime: after(-24 * time.Hour), CompletedTime: after(-20 * time.Hour)}}},
				Wait:   &api.WaitStatus{Status: api.UpdateStatus{State: api.StateCompleted}, WaitDurationInSeconds: 3600, Deadline: after(-19 * time.Hour)},
			},
			{
				Name: "prod", MaxConcurrency: 3, Status: running, AfterGates: []api.GateStatus{{Type: api.GateScheduledStart, AbsoluteStartTime: after(200 * time.Hour)}},
				Groups: []api.GroupStatus{
					{Name: "eu", MaxConcurrency: 5, MaxAllowedFailures: 5, FailureCount: 1, Members: eu, Status: running},
					{Name: "us", MaxConcurrency: 2, BeforeGates: []api.GateStatus{gate}, Members: updates(api.StateNotStarted, "", "u1", "u2"), Status: api.UpdateStatus{State: api.StatePending}},
				},
			},
			{Name: "last", MaxConcurrency: 1, Status: api.UpdateStatus{State: api.StateNotStarted}, Groups: []api.GroupStatus{
				{Name: "last", MaxConcurrency: 1, Members: updates(api.StateNotStarted, "", "l1"), Status: api.UpdateStatus{State: api.StateNotStarted}},
			}},
		},
	}
}

func TestLanesTellWhoWaitsForWhat(t *testing.T) {
	c := CourseOf(spring(), nil, nil, noon)
	require.Len(t, c.Lanes, 4)
	canary, eu, us, last := c.Lanes[0], c.Lanes[1], c.Lanes[2], c.Lanes[3]
	require.Equal(t, []overview.Sign{overview.Well, overview.Warn, overview.Waiting, overview.Waiting}, []overview.Sign{canary.Sign, eu.Sign, us.Sign, last.Sign})
	require.Equal(t, map[api.UpdateState]int{api.StateCompleted: 2, api.StateFailed: 1, api.StateRunning: 1, api.StatePending: 3, api.StateNotStarted: 1}, eu.States)
	require.Equal(t, []int{8, 1, 5}, []int{eu.Members, eu.Failed, eu.Tolerated})
	require.Equal(t, []overview.Count{who(WaitWindow, 2), who(api.ReasonMemberUnreachable, 1), who(WaitConcurrency, 1)}, eu.Waiting)
	require.Equal(t, []overview.Count{who(WaitGate, 2)}, us.Waiting)
	require.Equal(t, []overview.Count{who(WaitGate, 2), who(WaitWindow, 2), who(api.ReasonMemberUnreachable, 1), who(WaitConcurrency, 1), who(WaitStage, 1)}, c.Waiting)
	require.Equal(t, 7, c.WaitingTotal)

	require.Equal(t, []Mark{{Type: api.GateApproval, Path: "prod/us/before/Approval", Span: Span{From: after(-time.Hour)}, Waits: true, stage: "prod", group: "us"}}, us.Marks)
	require.Empty(t, eu.Marks)
	require.Equal(t, []metav1.Time{after(-24 * time.Hour), after(0)}, []metav1.Time{c.From, c.Now})
	require.Equal(t, after(200*time.Hour).Add(224*time.Hour/12), c.To.Time, "the gate behind the stage opens by itself, and something is left behind that")
	require.True(t, c.Ends.IsZero())
}

func TestLanesOfARunThatWasNotStarted(t *testing.T) {
	status := spring()
	status.Status = api.UpdateStatus{State: api.StateNotStarted}
	status.Stages = status.Stages[2:]
	c := CourseOf(status, nil, nil, noon)
	require.Equal(t, []overview.Count{who(WaitStart, 1)}, c.Waiting)
	require.Equal(t, time.Minute, c.To.Sub(c.From.Time))
	require.Empty(t, CourseOf(&api.UpdateRunStatus{}, nil, nil, noon).Lanes)
}

func TestLanesShowTheForecastAgainstWindows(t *testing.T) {
	at := func(d time.Duration) *metav1.Time { return new(after(d)) }
	forecast := &plan.Run{ExpectedEnd: at(130 * time.Hour), Members: []plan.RunMember{
		{Name: "e4", Stage: "prod", Group: "eu", Start: at(-time.Hour), End: at(time.Hour), State: api.StateCompleted},
		{Name: "e5", Stage: "prod", Group: "eu", Start: at(110 * time.Hour), End: at(111 * time.Hour), State: api.StateCompleted},
		{Name: "e3", Stage: "prod", Group: "eu", State: api.StateFailed},
		{Name: "u1", Stage: "prod", Group: "us", Start: at(120 * time.Hour), End: at(121 * time.Hour), State: api.StateCompleted},
		{Name: "u2", Stage: "prod", Group: "us", State: api.StatePending},
	}}
	s := saturdays(t)
	var windows []MemberWindows
	for _, name := range []string{"e1", "e5", "e6", "u1", "stranger"} {
		windows = append(windows, MemberWindows{Member: name, Open: s.Between(noon, noon.AddDate(0, 0, 14))})
	}
	c := CourseOf(spring(), forecast, windows, noon)
	eu, us := c.Lanes[1], c.Lanes[2]
	require.Equal(t, Span{after(-time.Hour), after(111 * time.Hour)}, eu.Expected)
	require.Equal(t, Span{From: after(120 * time.Hour)}, us.Expected, "nobody knows when u2 ends")
	require.Equal(t, after(130*time.Hour), c.Ends)
	saturday := time.Date(2026, 3, 7, 2, 0, 0, 0, time.UTC)
	require.Equal(t, []LaneWindow{{Span{metav1.NewTime(saturday), metav1.NewTime(saturday.Add(4 * time.Hour))}, 2}}, eu.Windows)
	require.Len(t, us.Windows, 1)
	require.Equal(t, 1, us.Windows[0].Most)
	require.Empty(t, c.Lanes[0].Windows)
}
