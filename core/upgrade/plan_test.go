package upgrade_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/upgrade"
	"flotilla/core/version"
)

// What a plan only guesses stays within the timeout of the run; what a user assumes does not.
func TestAPlanDoesNotGuessBeyondTheTimeout(t *testing.T) {
	for name, c := range map[string]struct {
		assumptions upgrade.Assumptions
		want        string
	}{
		"nothing known": {upgrade.Assumptions{}, "Completed"},
		"history":       {upgrade.Assumptions{History: took(map[string]time.Duration{"a": time.Hour})}, "Completed"},
		"assumed":       {upgrade.Assumptions{Duration: 20 * time.Minute}, "Failed"},
	} {
		run, _, view := silentPair(t, "1.29.2")
		run.Spec.Policy = &api.UpdatePolicy{MemberTimeout: &metav1.Duration{Duration: 15 * time.Minute}}
		report := upgrade.Plan([]upgrade.PlannedRun{{Run: run}}, view, benchNow, c.assumptions)
		require.Equal(t, c.want, report.Runs[0].State, name)
		if c.want == "Completed" {
			require.Equal(t, benchNow.Add(30*time.Minute), report.Runs[0].ExpectedEnd.Time, name)
		}
	}
}

// rapidProfile makes a run to 1.29.9 for members at 1.29.2.
func rapidProfile(t *testing.T) (*api.AutoUpgradeProfile, upgrade.View) {
	t.Helper()
	_, _, view := silentPair(t, "1.29.2")
	catalog, err := version.NewCatalog(&api.VersionCatalogSpec{Kubernetes: []api.KubernetesRelease{{Version: "1.29.9", State: "GA", Regions: []string{"weu"}}}})
	require.NoError(t, err)
	view.Catalog = catalog
	profile := &api.AutoUpgradeProfile{}
	profile.Name, profile.Spec.Channel = "fast", api.ChannelRapid
	return profile, view
}

// A run that a profile makes again after it was deleted is noted like the first.
func TestAProfileNotesARunItMakesAgain(t *testing.T) {
	profile, view := rapidProfile(t)
	first := upgrade.Reconcile(upgrade.ProfileInput{Profile: profile, View: view, Now: benchNow})
	require.NotNil(t, first.Create)
	require.True(t, first.Changed)
	require.EqualValues(t, 1, first.Create.Run.Generation)
	require.Equal(t, benchNow, first.Create.Run.CreationTimestamp.Time)

	later := benchNow.Add(time.Hour)
	again := upgrade.Reconcile(upgrade.ProfileInput{Profile: profile, Status: &first.Status, View: view, Now: later})
	require.NotNil(t, again.Create)
	require.True(t, again.Changed)
	require.Equal(t, later, again.Status.LastTriggeredAt.Time)
}

// What somebody would ask of a run is done to it before it goes on, or refused as the run would refuse it.
func TestAPlanBeginsWithWhatIsAskedOfTheRun(t *testing.T) {
	run, _, view := silentPair(t, "1.29.2")
	created, refusal := upgrade.Create(run, nil, view, benchNow)
	require.Nil(t, refusal)
	plan := func(verb string, ask api.RunRequest) upgrade.RunPlan {
		planned := upgrade.PlannedRun{Run: run, Status: &created}
		return upgrade.Plan([]upgrade.PlannedRun{planned}, view, benchNow, upgrade.Assumptions{Operation: &api.RunOperation{Verb: verb, Ask: ask}}).Runs[0]
	}
	skipped := plan(api.VerbRunSkip, api.RunRequest{Targets: []api.SkipTarget{{Type: api.TargetMember, Name: "a"}}})
	require.Equal(t, string(api.StateNotStarted), skipped.State, "skipping starts nothing")
	require.Equal(t, map[string]api.UpdateState{"a": api.StateSkipped, "b": api.StateNotStarted}, statesOf(&skipped))

	started := plan(api.VerbRunStart, api.RunRequest{})
	require.Equal(t, string(api.StateCompleted), started.State)
	require.Equal(t, map[string]api.UpdateState{"a": api.StateCompleted, "b": api.StateCompleted}, statesOf(&started))

	left := plan("", api.RunRequest{})
	require.Equal(t, string(api.StateNotStarted), left.State, "nothing was asked")

	for verb, ask := range map[string]api.RunRequest{
		api.VerbRunStop:    {},
		api.VerbRunApprove: {Gate: "prod/before/Approval"},
		api.VerbRunSkip:    {Targets: []api.SkipTarget{{Type: api.TargetMember, Name: "nobody"}}},
	} {
		refused := plan(verb, ask)
		require.NotNil(t, refused.Refusal, verb)
		require.Empty(t, refused.Members, verb)
		require.Equal(t, upgrade.Refused, refused.State, verb)
	}
}

func statesOf(plan *upgrade.RunPlan) map[string]api.UpdateState {
	states := map[string]api.UpdateState{}
	for i := range plan.Members {
		states[plan.Members[i].Name] = plan.Members[i].State
	}
	return states
}

// Whatever a profile noted last, once its run is there that is noted, and only once.
func TestAProfileNotesARunThatExists(t *testing.T) {
	profile, view := rapidProfile(t)
	made := upgrade.Reconcile(upgrade.ProfileInput{Profile: profile, View: view, Now: benchNow})
	require.NotNil(t, made.Create)
	runs := []upgrade.RunHead{{Name: made.Create.Run.Name, Profile: "fast", State: api.StateRunning}}
	note := func(was api.AutoUpgradeProfileStatus) upgrade.ProfileDecision {
		return upgrade.Reconcile(upgrade.ProfileInput{Profile: profile, Status: &was, Runs: runs, View: view, Now: benchNow.Add(time.Hour)})
	}
	require.False(t, note(made.Status).Changed, "that it was made says it already")

	failed := made.Status
	failed.LastTriggerStatus, failed.LastTriggerError = api.TriggerFailed, &api.UpdateError{Message: "no catalog"}
	older := made.Status
	older.LastTriggerUpgradeVersions = []string{"1.28.9"}
	for name, was := range map[string]api.AutoUpgradeProfileStatus{"it could not be made before": failed, "another one was made before": older} {
		d := note(was)
		require.True(t, d.Changed, name)
		require.Equal(t, api.TriggerSucceeded, d.Status.LastTriggerStatus, name)
		require.Equal(t, "run "+runs[0].Name+" exists", d.Status.LastTriggerMessage, name)
		require.Equal(t, made.Status.LastTriggerUpgradeVersions, d.Status.LastTriggerUpgradeVersions, name)
		require.Nil(t, d.Status.LastTriggerError, name)
		require.False(t, note(d.Status).Changed, name)
	}
}

// A plan holds so many rows of runs and no more, and ends with whoever waits for it (H40): runs that it has no room for, or that
// nobody waits for, are left out.
func TestPlansOfManyRunsEnd(t *testing.T) {
	run, view := thousand(t, 1, 20)
	runs := []upgrade.PlannedRun{{Run: run}, {Run: run}, {Run: run}}
	whole := upgrade.Plan(runs, view, benchNow, upgrade.Assumptions{})
	require.Len(t, whole.Runs, 3)
	rows := len(whole.Runs[0].Members) + len(whole.Runs[0].Events)
	require.Len(t, upgrade.Plan(runs, view, benchNow, upgrade.Assumptions{MostRows: 2 * rows}).Runs, 3)
	require.Len(t, upgrade.Plan(runs, view, benchNow, upgrade.Assumptions{MostRows: 2*rows - 1}).Runs, 2)

	asked := 0
	cut := upgrade.Plan(runs, view, benchNow, upgrade.Assumptions{Ended: func() bool { asked++; return asked > 1 }})
	require.Len(t, cut.Runs, 1)
	require.Less(t, len(cut.Runs[0].Events), len(whole.Runs[0].Events), "it ended within the run")
}
