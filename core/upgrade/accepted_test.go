package upgrade_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/validate/upgrades"
	"flotilla/core/version"
)

// TestWhatIsAcceptedCanBeRead holds validation and parsing against each other: a catalog that was
// accepted and cannot be read would stop every run.
func TestWhatIsAcceptedCanBeRead(t *testing.T) {
	strange := []string{
		"1.29.9", "v1.29.9", "1.29", "v1.2", "1", "", "1.2.3.4", "99999999999.1.2", "1.29.99999999999999999999", "999999999.0.1",
		"202401.09.0", "2022.12.13", "202401", "20348.2582.240716", "1.2.3.4.5", "01.02.03", "1..2", ".1.2", "1.2.", "1.2.x", "-1.2.3", "+1.2.3", "1.2.3 ",
	}
	accepted := 0
	for _, text := range strange {
		for _, spec := range []api.VersionCatalogSpec{
			{Kubernetes: []api.KubernetesRelease{{Version: text, State: api.ReleaseGA}}},
			{NodeImages: []api.NodeImageRelease{{Family: "U", Version: text}}},
		} {
			catalog := &api.VersionCatalog{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: spec}
			_, err := version.NewCatalog(&catalog.Spec)
			require.Equal(t, err == nil, len(upgrades.VersionCatalog(catalog)) == 0, "%q: %v", text, err)
			if err == nil {
				accepted++
			}
		}
		run := &api.UpdateRun{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Spec: api.UpdateRunSpec{Upgrade: api.Upgrade{Type: api.UpgradeFull, KubernetesVersion: text}}}
		_, readable := version.Parse(text)
		require.Equal(t, readable, len(upgrades.UpdateRun(run)) == 0, text)
		run.Spec.Upgrade = api.Upgrade{Type: api.UpgradeNodeImageOnly, NodeImageSelection: &api.NodeImageSelection{
			Type: api.ImagesCustom, CustomNodeImageVersions: []api.NodeImageVersion{{Version: "U-" + text}},
		}}
		_, readable = version.ParseImage("U-" + text)
		require.Equal(t, readable, len(upgrades.UpdateRun(run)) == 0, "U-%s", text)
	}
	require.Equal(t, 14, accepted)
}
