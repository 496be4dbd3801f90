package run

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/hub/flotilla/cli/clitest"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

func TestTreeOfARun(t *testing.T) {
	expected := clitest.Now.Add(2 * time.Hour)
	rows := runTree(clitest.SpringRun(t), outlook{end: expected}, clitest.Now)
	require.Equal(t, `run spring                      Running     2/6  Full to 1.31.2, 1 failed, expected to end 2026-03-01 14:00Z, in 120m
  stage canary                  Completed   1/1  at most 50 at once
    group canary                Completed   1/1  at most 1 at once
      oslo                      Completed        upgraded, in 12m
    wait canary                 Completed        10m0s
  stage prod                    Running     1/4  at most 4 at once, 1 failed of 2 allowed
    gate before Approval        Completed        owners
    group eu                    Running     1/4  at most 2 at once, 1 failed of 2 allowed
      berlin                    Running          1.30.5 to 1.31.2, 40 % done, for 15m, attempt 2, window open
      dublin                    Failed           UpgradeFailed: no quorum, no window
      lyon                      Skipped          SkippedByUser: a user skipped the member, by the user
      paris                     Pending          MaintenanceWindowClosed: its maintenance window opens at 2026-03-02T01:00:00Z (Mon 02:00 CET), in 13h
  stage rest                    NotStarted  0/1  at most 1 at once
    gate before ScheduledStart  Pending          opens 2026-03-04 01:00Z (Wed 02:00 +01:00), in 2d13h
    group rest                  NotStarted  0/1  at most 1 at once
      tampa                     NotStarted       NotReached: waits for the stages before rest
`, drawTree(rows, false))
	failing := runTree(clitest.SpringRun(t), outlook{end: expected, fails: true}, clitest.Now)
	require.Contains(t, drawTree(failing, false), "1 failed, expected to fail 2026-03-01 14:00Z, in 120m")
	require.Contains(t, drawTree(rows, true), "stage prod                    Running     [#####---------------] 1/4")
	require.NotContains(t, drawTree(rows, true), "group eu                    Running     [")
}

// Why a run cannot be created is said, once a cause.
func TestAScreenSaysWhyThereIsNoRunYet(t *testing.T) {
	var out bytes.Buffer
	s := &screen{session: session.New(session.Environment{Out: &out})}
	f := &following{run: &api.UpdateRun{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}}}
	for _, why := range []string{"", "", "InvalidState: placement web is not fully scheduled", "InvalidState: placement web is not fully scheduled"} {
		s.why = why
		s.show(f, clitest.Now)
	}
	require.Equal(t, "run web-1: the hub has not looked at it yet\nrun web-1: cannot be created yet: InvalidState: placement web is not fully scheduled\n", out.String())
}

func TestTreeFoldsWhatNeedsNoAttention(t *testing.T) {
	rows := runTree(clitest.SpringRun(t), outlook{}, clitest.Now)
	names := func(degree int) []string {
		var kept []string
		for _, r := range folded(rows, degree) {
			kept = append(kept, r.name)
		}
		return kept
	}
	require.Len(t, names(0), len(rows))
	require.NotContains(t, names(foldSettled), "oslo")
	require.Contains(t, names(foldSettled), "lyon")
	require.NotContains(t, names(foldQuiet), "lyon")
	require.Equal(t, []string{
		"spring", "canary", "canary", "prod", "before Approval", "eu", "berlin", "dublin", "paris", "rest", "before ScheduledStart",
	}, names(foldGroups), "what runs, fails or waits stays, and so do gates and waits")
}

func TestScreenDrawsOverOnATerminalAndListsChangesElsewhere(t *testing.T) {
	run, later := clitest.SpringRun(t), clitest.SpringRun(t)
	paris := &later.Status.Stages[1].Groups[0].Members[3]
	paris.Status.State, paris.Reason, paris.Message, paris.Attempt = api.StateRunning, "", "", 1
	paris.Status.StartTime = metav1.NewTime(clitest.Now)
	shown := func(terminal bool, columns, height int) string {
		var out bytes.Buffer
		a := session.New(session.Environment{Out: &out, Terminal: terminal, Size: func() (int, int) { return columns, height }})
		s := &screen{session: a, redraws: terminal}
		s.show(&following{run: &api.UpdateRun{ObjectMeta: metav1.ObjectMeta{Name: "spring"}}}, clitest.Now)
		s.show(&following{run: run}, clitest.Now)
		out.Reset()
		s.show(&following{run: later}, clitest.Now)
		return out.String()
	}
	require.Equal(t, "12:00:00Z  member paris Running: attempt 1, for 0s, window closed\n", shown(false, 0, 0))

	whole := shown(true, 0, 0)
	require.Contains(t, whole, "\033[16A\033[J", "the sixteen rows before are drawn over")
	require.Contains(t, whole, "tampa")
	small := shown(true, 40, 12)
	require.NotContains(t, small, "tampa")
	require.Contains(t, small, "paris")
	for line := range bytes.Lines([]byte(small)) {
		require.LessOrEqual(t, len([]rune(string(bytes.TrimPrefix(line, []byte("\033[11A\033[J"))))), 40, "lines are cut: %s", line)
	}
	tiny := shown(true, 0, 5)
	require.Contains(t, tiny, "more lines")
}

// Where a run ends, what happened to its members comes before what that means for those that hold them.
func TestChangesAreToldFromTheMembersUp(t *testing.T) {
	before, later := clitest.SpringRun(t), clitest.SpringRun(t)
	prod, rest := &later.Status.Stages[1], &later.Status.Stages[2]
	dublin, paris := &prod.Groups[0].Members[1], &prod.Groups[0].Members[3]
	for _, m := range []*api.MemberUpdateStatus{dublin, paris} {
		m.Status.State, m.Reason, m.Message = api.StateCompleted, "", ""
	}
	prod.BeforeGates[0].Status.State, rest.Groups[0].Status.State = api.StateSkipped, api.StateSkipped
	prod.Groups[0].Status.State, prod.Status.State, later.Status.Status.State = api.StateCompleted, api.StateCompleted, api.StateCompleted
	rest.Groups[0].Members[0].Status.State = api.StateSkipped
	var told []string
	for _, line := range changedRows(runTree(before, outlook{}, clitest.Now), runTree(later, outlook{}, clitest.Now)) {
		told = append(told, strings.Join(strings.Fields(strings.ReplaceAll(line, ":", " "))[:2], " "))
	}
	require.Equal(t, []string{
		"member dublin", "member paris", "member tampa", "gate before", "group eu", "group rest", "stage prod", "run spring",
	}, told)
}

func TestNextCommandOfARun(t *testing.T) {
	for _, c := range []struct {
		change func(*api.UpdateRunStatus)
		want   string
	}{
		{func(s *api.UpdateRunStatus) {}, "flotilla run status spring --watch"},
		{func(s *api.UpdateRunStatus) { s.Status.State = api.StateNotStarted }, "flotilla run start spring"},
		{func(s *api.UpdateRunStatus) { s.Status.State, s.BlockedBy = api.StateNotStarted, "winter" }, "flotilla run status winter"},
		{func(s *api.UpdateRunStatus) { s.Status.State = api.StateStopped }, "flotilla run start spring"},
		{func(s *api.UpdateRunStatus) { s.Status.State = api.StateFailed }, "flotilla run start spring"},
		{func(s *api.UpdateRunStatus) { s.Status.State = api.StateCompleted }, "flotilla run rerun spring"},
		{func(s *api.UpdateRunStatus) { s.Status.State, s.FailureCount = api.StateCompleted, 0 }, "flotilla get members"},
		{func(s *api.UpdateRunStatus) {
			g := &s.Stages[1].BeforeGates[0]
			g.GateID, g.Status.State = "id", api.StatePending
		}, "flotilla run approve spring --gate prod/before/Approval"},
	} {
		run := clitest.SpringRun(t)
		c.change(run.Status)
		require.Equal(t, c.want, stage.Next(run.Status))
	}
}

func TestExitCodeOfARun(t *testing.T) {
	for state, want := range map[api.UpdateState][2]int{ // without and with failed members
		api.StateCompleted: {session.ExitDone, session.ExitPartial}, api.StateSkipped: {session.ExitDone, session.ExitPartial}, api.StateFailed: {session.ExitPartial, session.ExitPartial},
		api.StateRunning: {session.ExitDifferent, session.ExitDifferent}, api.StateStopped: {session.ExitDifferent, session.ExitDifferent}, api.StateNotStarted: {session.ExitDifferent, session.ExitDifferent},
	} {
		for failures, code := range want {
			run := clitest.SpringRun(t)
			run.Status.Status.State, run.Status.FailureCount = state, failures
			var out bytes.Buffer
			err := commands{Client: resource.New(session.New(session.Environment{Out: &out, Err: &out}))}.runOutcome(run)
			got := session.ExitDone
			if err != nil {
				got = session.FailureOf(err).Code
			}
			require.Equal(t, code, got, "%s with %d failures", state, failures)
		}
	}
}

func TestADeletedRunThatAProfileMakesAgain(t *testing.T) {
	run := clitest.SpringRun(t)
	require.Empty(t, madeAgain(run))
	run.Spec.AutoUpgradeProfile = "fast"
	require.Contains(t, madeAgain(run), "profile fast makes the run again while it is enabled")
}

// A run that is followed no longer goes on, and a person who interrupts is told so.
func TestFollowingThatIsInterruptedSaysSo(t *testing.T) {
	over, end := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer end()
	broken, interrupt := context.WithCancel(t.Context())
	interrupt()
	follow := &statusOptions{watch: true, timeout: time.Minute}
	run := func(state api.UpdateState) *api.UpdateRun {
		out := &api.UpdateRun{Status: &api.UpdateRunStatus{Status: api.UpdateStatus{State: state}}}
		out.Name = "spring"
		return out
	}
	for want, err := range map[string]error{
		"run spring has not ended after 1m0s: it is Running":                   follow.ended(over, run(api.StateRunning)),
		"interrupted: run spring is Running, and goes on without this command": follow.ended(broken, run(api.StateRunning)),
		"interrupted: run spring is NotStarted":                                follow.ended(broken, run(api.StateNotStarted)),
		"interrupted: run  is not looked at yet":                               follow.ended(broken, &api.UpdateRun{}),
	} {
		f := session.FailureOf(err)
		require.Equal(t, session.ExitTimedOut, f.Code)
		require.Equal(t, want, f.Message)
		require.NotEmpty(t, f.Next)
	}
}
