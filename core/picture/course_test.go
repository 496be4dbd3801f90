package picture_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/core/picture"
	"flotilla/core/plan"
	"flotilla/core/stage"
	"flotilla/core/upgrade"
)

var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

func at(minutes int) metav1.Time {
	return metav1.NewTime(noon.Add(time.Duration(minutes) * time.Minute))
}

func inRun(name string, state api.UpdateState, from, to int) api.MemberUpdateStatus {
	m := api.MemberUpdateStatus{Name: name, Status: api.UpdateStatus{State: state}}
	switch {
	case state == api.StateRunning:
		m.Attempt, m.Status.StartTime = 1, at(from)
	case state == api.StatePending:
		m.PendingSince, m.Reason, m.NextEligibleTime = at(from), api.ReasonWindowClosed, at(to)
	case state.Terminal():
		m.Attempt, m.FromVersion, m.ToVersion, m.Status.StartTime, m.Status.CompletedTime = 1, "1.30.1", "1.31.2", at(from), at(to)
	}
	return m
}

// halfway is a run whose first stage is done and waits, and whose second one has two groups, one of them behind a gate.
func halfway() *api.UpdateRunStatus {
	started := api.UpdateStatus{State: api.StateRunning, StartTime: at(-60)}
	return &api.UpdateRunStatus{
		Run: "spring", Members: 7, Finished: 3, FailureCount: 1, Status: started,
		Stages: []api.StageStatus{{
			Name: "canary", Status: api.UpdateStatus{State: api.StateCompleted, StartTime: at(-60), CompletedTime: at(-30)},
			Groups: []api.GroupStatus{{
				Name: "canary", Status: api.UpdateStatus{State: api.StateCompleted},
				Members: []api.MemberUpdateStatus{inRun("alta", api.StateCompleted, -60, -50)},
			}},
			AfterGates: []api.GateStatus{{Type: api.GateApproval, DisplayName: "looks good", ApprovedBy: "ada", Status: api.UpdateStatus{State: api.StateCompleted, StartTime: at(-50), CompletedTime: at(-40)}}},
			Wait:       &api.WaitStatus{Status: api.UpdateStatus{State: api.StateCompleted, StartTime: at(-50), CompletedTime: at(-30)}, Deadline: at(-30)},
		}, {
			Name: "prod", Status: api.UpdateStatus{State: api.StateRunning, StartTime: at(-30)}, MaxAllowedFailures: 2, FailureCount: 1,
			Groups: []api.GroupStatus{{
				Name: "eu", Status: api.UpdateStatus{State: api.StateRunning}, MaxAllowedFailures: 2, FailureCount: 1, MaxConcurrency: 1,
				Members: []api.MemberUpdateStatus{
					inRun("bonn", api.StateFailed, -30, -20), inRun("graz", api.StateCompleted, -30, -15), inRun("oslo", api.StateRunning, -15, 0),
					inRun("rome", api.StatePending, -15, 120), inRun("wien", api.StateNotStarted, 0, 0),
				},
			}, {
				Name: "us", Status: api.UpdateStatus{State: api.StatePending}, MaxAllowedFailures: 2,
				BeforeGates: []api.GateStatus{{Type: api.GateApproval, GateID: "1", Status: api.UpdateStatus{State: api.StatePending, StartTime: at(-30)}}},
				Members:     []api.MemberUpdateStatus{inRun("yuma", api.StateNotStarted, 0, 0)},
			}},
		}},
	}
}

// foreseen has rome end after two hours, and wien an hour after it.
func foreseen() *plan.Run {
	moment := func(minutes int) *metav1.Time { t := at(minutes); return &t }
	return &plan.Run{
		Name: "spring", State: string(api.StateFailed), ExpectedEnd: moment(240),
		Events: []upgrade.PlanEvent{{At: at(60), Scope: stage.ScopeGate, Name: "prod/us/before/Approval", State: api.StateCompleted}},
		Members: []plan.RunMember{
			{Name: "oslo", Stage: "prod", Group: "eu", Start: moment(-15), End: moment(15), State: api.StateCompleted},
			{Name: "rome", Stage: "prod", Group: "eu", Start: moment(120), End: moment(180), State: api.StateFailed},
			{Name: "wien", Stage: "prod", Group: "eu", Start: moment(180), End: moment(240), State: api.StateCompleted},
			{Name: "bonn", Stage: "prod", Group: "eu", Start: moment(-30), End: moment(-20), State: api.StateFailed},
		},
	}
}

func TestMembersOfARunStandByUrgency(t *testing.T) {
	status := stage.Explained(halfway())
	rows := picture.RunMembers(&status, []overview.Member{{Name: "graz", State: api.MemberUnknown}, {Name: "oslo", State: api.MemberReady}})
	var told []string
	for i := range rows {
		r := &rows[i]
		told = append(told, fmt.Sprintf("%s %s %s %s %s %s", r.Name, r.Place(), r.State, r.Sign, r.Reason, r.Since.UTC().Format("15:04")))
	}
	require.Equal(t, []string{
		"bonn prod/eu Failed Bad  11:40",
		"oslo prod/eu Running Moving UpgradeInProgress 11:45",
		"rome prod/eu Pending Waiting MaintenanceWindowClosed 11:45",
		"wien prod/eu NotStarted Waiting WaitsForSlot 00:00",
		"yuma prod/us NotStarted Waiting WaitsForGate 00:00",
		"alta canary/canary Completed Well UpgradeSucceeded 11:10",
		"graz prod/eu Completed Away UpgradeSucceeded 11:45",
	}, told, "graz is silent: whatever the run did there, it is not well")
	require.Equal(t, "1.30.1 to 1.31.2", rows[0].From+" to "+rows[0].To)
	require.Equal(t, []string{"", "", "window", "concurrency", "gate"}, []string{rows[0].Waits, rows[1].Waits, rows[2].Waits, rows[3].Waits, rows[4].Waits})
}

func TestGatesOfARunSayWhoWaitsBehindThem(t *testing.T) {
	var told []string
	for _, g := range picture.RunGates(halfway()) {
		told = append(told, fmt.Sprintf("%s %s %s holds %d by %q", g.Path, g.Type, g.State, g.Holds, g.By))
	}
	require.Equal(t, []string{
		`canary/after/Approval Approval Completed holds 0 by "ada"`,
		`canary Wait Completed holds 0 by ""`,
		`prod/us/before/Approval Approval Pending holds 1 by ""`,
	}, told)
}

func courseOf(status *api.UpdateRunStatus, forecast *plan.Run) picture.Course {
	return picture.CourseOf(status, forecast, nil, noon)
}

// countsAt are those of the slice that ends first at or after so many minutes.
func countsAt(c *picture.Course, lane, minutes int) picture.Slice {
	slices := c.Lanes[lane].Slices
	length := c.To.Sub(c.From.Time) / time.Duration(len(slices))
	for i := range slices {
		if end := c.From.Add(length * time.Duration(i+1)); !end.Before(at(minutes).Time) {
			return slices[i]
		}
	}
	return picture.Slice{}
}

func TestCourseShowsWhatWasAndWhatIsForeseen(t *testing.T) {
	c := courseOf(halfway(), foreseen())
	require.Equal(t, []string{"canary/canary", "prod/eu", "prod/us"}, places(&c))
	require.Equal(t, at(-60), c.From)
	require.Equal(t, at(240), c.Ends)
	require.True(t, c.To.After(c.Ends.Time))
	for minutes, want := range map[int]picture.Slice{
		-40: {}, -25: {Running: 2}, -18: {Running: 1, Failed: 1}, -2: {Done: 1, Running: 1, Failed: 1}, 30: {Done: 2, Failed: 1},
		150: {Done: 2, Running: 1, Failed: 1}, 200: {Done: 2, Running: 1, Failed: 2}, 245: {Done: 3, Failed: 2},
	} {
		require.Equal(t, want, countsAt(&c, 1, minutes), "after %d minutes", minutes)
	}
	eu := c.Lanes[1]
	require.Equal(t, []int{5, 1, 1, 1, 2}, []int{eu.Members, eu.Done(), eu.Running(), eu.Failed, eu.Tolerated})
	require.Equal(t, overview.Warn, eu.Sign)
	require.Equal(t, "canary/after/Approval", c.Lanes[0].Marks[0].Path)
	require.Len(t, c.Lanes[0].Marks, 2)
	gate := c.Lanes[2].Marks[0]
	require.True(t, gate.Waits)
	require.Equal(t, at(60), gate.To, "it is foreseen to be approved then")
	require.Empty(t, eu.Marks)
}

func TestCourseWithoutForesightEndsNow(t *testing.T) {
	c := courseOf(halfway(), nil)
	require.True(t, c.Ends.IsZero())
	require.Equal(t, picture.Slice{Done: 1, Running: 1, Failed: 1}, countsAt(&c, 1, -1))
	last := c.Lanes[1].Slices[len(c.Lanes[1].Slices)-1]
	require.Equal(t, picture.Slice{}, last, "nobody knows how it goes on")
}

func TestCourseOfManyGroupsHasALaneAStage(t *testing.T) {
	status := halfway()
	for i := range 60 {
		name := fmt.Sprintf("g%02d", i)
		status.Stages[0].Groups = append(status.Stages[0].Groups, api.GroupStatus{Name: name, Members: []api.MemberUpdateStatus{inRun(name, api.StateCompleted, -60, -50)}})
	}
	c := courseOf(status, nil)
	require.Equal(t, []string{"canary/", "prod/eu", "prod/us"}, places(&c))
	require.Equal(t, 61, c.Lanes[0].Done())
}

func places(c *picture.Course) (all []string) {
	for i := range c.Lanes {
		all = append(all, c.Lanes[i].Stage+"/"+c.Lanes[i].Group)
	}
	return all
}

func TestMembersOfARunAreFound(t *testing.T) {
	status := stage.Explained(halfway())
	rows := picture.RunMembers(&status, nil)
	for _, test := range []struct {
		group, waits, state string
		want                []string
	}{
		{"", "", "", []string{"bonn", "oslo", "rome", "wien", "yuma", "alta", "graz"}},
		{"prod/eu", "", "", []string{"bonn", "oslo", "rome", "wien", "graz"}},
		{"prod", "", "NotStarted", []string{"wien", "yuma"}},
		{"", picture.WaitGate, "", []string{"yuma"}},
		{"canary", picture.WaitGate, "", nil},
	} {
		var names []string
		for _, m := range picture.FindRunMembers(rows, test.group, test.waits, test.state) {
			names = append(names, m.Name)
		}
		require.Equal(t, test.want, names, "%+v", test)
	}
}

func TestWindowsCountByWhatARunBrings(t *testing.T) {
	for _, test := range []struct {
		upgrade string
		status  api.UpdateRunStatus
		want    string
	}{
		{api.UpgradeFull, api.UpdateRunStatus{}, picture.ForUpgrades},
		{api.UpgradeControlPlaneOnly, api.UpdateRunStatus{}, picture.ForUpgrades},
		{api.UpgradeNodeImageOnly, api.UpdateRunStatus{}, picture.ForImages},
		{api.UpgradeFull, api.UpdateRunStatus{WindowsIgnored: "urgent"}, ""},
		{"", api.UpdateRunStatus{Content: &api.ContentRun{}}, ""},
		{"", api.UpdateRunStatus{Content: &api.ContentRun{Windows: true}}, picture.ForContent},
	} {
		run := &api.UpdateRun{Spec: api.UpdateRunSpec{Upgrade: api.Upgrade{Type: test.upgrade}}, Status: &test.status}
		require.Equal(t, test.want, picture.WindowsFor(run), "%+v", test)
	}
}
