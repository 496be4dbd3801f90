package upgrade_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/upgrade"
	"flotilla/core/version"
)

// The warnings of a run that was started are about the fleet as it was then, not as it was before.
func TestWarningsAreOfTheFirstStart(t *testing.T) {
	run, _, view := silentPair(t, "1.29.2")
	run.Spec.Strategy = &api.RunStrategy{Stages: []api.UpdateStage{{Name: "s", MemberSelector: &api.MemberSelector{ByLabel: "wave=1"}, MaxConcurrency: "9"}}}
	wave := func(name string) {
		m, _ := view.Fleet.Member(name)
		facts := m.MemberFacts
		facts.Labels = map[string]string{"wave": "1"}
		require.NoError(t, view.Fleet.Set(facts))
	}
	wave("a")
	status, refusal := upgrade.Create(run, nil, view, benchNow)
	require.Nil(t, refusal)
	require.Contains(t, status.Warnings, "no stage selects b")
	require.Contains(t, status.Warnings, "there is no VersionCatalog: versions are taken as available everywhere")

	wave("b")
	view.Catalog, _ = version.NewCatalog(&api.VersionCatalogSpec{Kubernetes: []api.KubernetesRelease{{Version: "1.29.9", State: "GA", Regions: []string{"weu"}}}})
	started, refusal := upgrade.Operate(run, &status, view, benchNow, api.VerbRunStart, &api.RunRequest{})
	require.Nil(t, refusal)
	require.NotContains(t, started.Status.Warnings, "no stage selects b")
	require.Contains(t, started.Status.Warnings, "versions are taken as available to members without a region: a, b")
	require.Contains(t, started.Status.Warnings, "the fleet changed after the run was created; its members were selected anew at the first start")
	require.NotContains(t, started.Status.Warnings, "there is no VersionCatalog: versions are taken as available everywhere")
}
