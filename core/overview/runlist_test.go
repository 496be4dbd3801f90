package overview_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/overview"
)

func TestRunsThatGoOnComeFirst(t *testing.T) {
	runs := []overview.Run{
		{Key: "spring", Target: "Full to 1.31.2", State: api.StateCompleted},
		{Key: "shop/web", Target: "snapshot 3 of shop/web", State: api.StateFailed},
		{Key: "summer", Target: "Full to 1.32.0", State: api.StatePending},
		{Key: "autumn", Target: "Full to 1.32.1", State: api.StateNotStarted},
		{Key: "winter", Target: "Full to 1.33.0", State: api.StateStopping},
	}
	for _, test := range []struct {
		text, state string
		want        []string
	}{
		{"", "", []string{"summer", "winter", "shop/web", "autumn", "spring"}},
		{"FULL TO 1.32", "", []string{"summer", "autumn"}},
		{"", "Failed", []string{"shop/web"}},
		{"nothing", "", nil},
	} {
		kept, tallies := overview.FindRuns(runs, test.text, test.state)
		var keys []string
		for i := range kept {
			keys = append(keys, kept[i].Key)
		}
		require.Equal(t, test.want, keys, "%q %q", test.text, test.state)
		if test.text == "" {
			require.Len(t, tallies, 5, "of all states")
			require.Equal(t, overview.Tally{State: "Pending", Sign: overview.Waiting, Count: 1}, tallies[0])
		}
	}
}

func TestRowsAreFoundByKey(t *testing.T) {
	fleet := &overview.Fleet{
		Members: []overview.Member{{Name: "oslo"}}, Placements: []overview.Placement{{Key: "shop/web"}},
		Runs: []overview.Run{
			{Key: "spring", Kind: api.KindUpdateRun, Target: "Full to 1.31 of shop/web"},
			{Key: "shop/a", Kind: api.KindStagedUpdateRun, Target: "snapshot 3 of shop/web"},
			{Key: "shop/b", Kind: api.KindStagedUpdateRun, Target: "snapshot 2 of shop/web", Ended: metav1.Unix(1, 0)},
			{Key: "c", Kind: api.KindStagedUpdateRun, Target: "snapshot 2 of web"},
		},
	}
	require.Equal(t, []string{"oslo", "shop/web", "shop/b"}, []string{fleet.Member("oslo").Name, fleet.Placement("shop/web").Key, fleet.Run("shop/b").Key})
	require.Nil(t, fleet.Member("web"))
	require.Equal(t, fleet.Runs[1:2], fleet.RunsOf("shop/web"), "a run of content that has not ended")
}

func TestWhatMayBeDoneWithARunGoesByItsState(t *testing.T) {
	for state, want := range map[api.UpdateState][3]bool{ // start, stop, rerun
		api.StateNotStarted: {true, false, false}, api.StateRunning: {false, true, false}, api.StatePending: {false, true, false},
		api.StateStopping: {false, false, false}, api.StateStopped: {true, false, true}, api.StateFailed: {true, false, true},
		api.StateCompleted: {false, false, false}, api.StateSkipped: {false, false, false},
	} {
		run := overview.Run{State: state}
		require.Equal(t, want, [3]bool{run.MayStart(), run.MayStop(), run.MayRerun()}, state)
	}
	run := overview.Run{State: api.StateCompleted}
	run.Failed = 1
	require.True(t, run.MayRerun(), "for those that failed")
}

func TestARunThatWasNotStartedSaysWhichRunIsBeforeIt(t *testing.T) {
	status := &api.UpdateRunStatus{BlockedBy: "spring", Status: api.UpdateStatus{State: api.StateNotStarted}}
	run := overview.RunOf(api.KindUpdateRun, &metav1.ObjectMeta{Name: "summer"}, "Full to 1.32.0", status)
	require.Equal(t, []any{[]string{"run spring"}, 1, "run spring"}, []any{run.Waits, run.WaitsTotal, run.Message})

	status.BlockedBy = ""
	run = overview.RunOf(api.KindUpdateRun, &metav1.ObjectMeta{Name: "summer"}, "Full to 1.32.0", status)
	require.Empty(t, run.Waits, "nobody started it")
	require.Empty(t, run.Message)

	status.BlockedBy, status.Status.State = "spring", api.StateRunning
	run = overview.RunOf(api.KindUpdateRun, &metav1.ObjectMeta{Name: "summer"}, "Full to 1.32.0", status)
	require.Empty(t, run.Waits, "what goes on waits for no run")
}
