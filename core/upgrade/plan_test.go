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

// A run that a profile makes again after it was deleted is noted like the first.
func TestAProfileNotesARunItMakesAgain(t *testing.T) {
	_, _, view := silentPair(t, "1.29.2")
	catalog, err := version.NewCatalog(&api.VersionCatalogSpec{Kubernetes: []api.KubernetesRelease{{Version: "1.29.9", State: "GA", Regions: []string{"weu"}}}})
	require.NoError(t, err)
	view.Catalog = catalog
	profile := &api.AutoUpgradeProfile{}
	profile.Name, profile.Spec.Channel = "fast", api.ChannelRapid
	first := upgrade.Reconcile(upgrade.ProfileInput{Profile: profile, View: view, Now: benchNow})
	require.NotNil(t, first.Create)
	require.True(t, first.Changed)

	later := benchNow.Add(time.Hour)
	again := upgrade.Reconcile(upgrade.ProfileInput{Profile: profile, Status: &first.Status, View: view, Now: later})
	require.NotNil(t, again.Create)
	require.True(t, again.Changed)
	require.Equal(t, later, again.Status.LastTriggeredAt.Time)
}
