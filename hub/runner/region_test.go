package runner_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/hub/runner"
	"flotilla/subjects"
)

// Three members, of which one states a region without images: a run of consistent images upgrades the two others, and
// a Warning names the third, its region, and what to do.
func TestARegionWithoutImagesSkipsItsOwnMemberAlone(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin", "mallory", "oslo")
	h.spec(subjects.CatalogSpecs, api.KindVersionCatalog, api.CatalogDefault, 1, `{"nodeImages":[{"family":"U","version":"202401.17.1","regions":["weu"]}]}`)
	image := func(member, region, version string) {
		h.report(member, api.MemberInventory{
			Region: region, ControlPlaneVersion: "1.29.2",
			NodePools: []api.NodePoolFacts{{Name: "np1", KubernetesVersion: "1.29.2", NodeImageVersion: "U-" + version}},
		})
	}
	image("berlin", "weu", "202312.11.0")
	image("oslo", "weu", "202312.11.0")
	image("mallory", "nowhere", "202312.11.0")
	h.updateRun("r1", `{"upgrade":{"type":"NodeImageOnly","nodeImageSelection":{"type":"Consistent"}},"strategy":{"stages":[{"name":"all",
		"memberSelector":{"byLabel":""},"maxConcurrency":"3"}]}}`)
	h.eventually("r1", "NotStarted: berlin NotStarted, mallory NotStarted, oslo NotStarted")
	h.start("r1")
	h.eventually("r1", "Running: berlin Running, mallory Skipped ConsistentImageNotFound, oslo Running")
	for _, member := range []string{"berlin", "oslo"} {
		operation := h.operation("r1", member)
		image(member, "weu", "202401.17.1")
		h.result("r1", member, operation, api.OutcomeSucceeded, "")
	}
	h.eventually("r1", "Completed: berlin Completed, mallory Skipped ConsistentImageNotFound, oslo Completed")
	h.told("run/r1", "ConsistentImageNotFound: member mallory", "the VersionCatalog lists no image for pool np1 (U) in region nowhere", "flotilla run rerun r1 --members mallory")
}

// A67: an agent that states a region which the catalog is behind in has nobody else get an older patch: where people wrote the regions of
// the others these choose, and its own member is skipped with a Warning that says what to type.
func TestARegionThatOnlyAnAgentStatesHoldsNobodyBack(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never})
	h.spec(subjects.CatalogSpecs, api.KindVersionCatalog, api.CatalogDefault, 1, `{"kubernetes":[{"version":"1.29.4","state":"GA","regions":["weu","aue"]},
		{"version":"1.29.9","state":"GA","regions":["weu"]}]}`)
	for member, labels := range map[string]map[string]string{"berlin": {"region": "weu"}, "oslo": {"topology.kubernetes.io/region": "weu"}, "mallory": nil} {
		h.member(member, "u-"+member, labels)
		region := map[bool]string{true: "aue", false: "weu"}[member == "mallory"]
		h.report(member, api.MemberInventory{
			Region: region, ControlPlaneVersion: "1.29.2", NodePools: []api.NodePoolFacts{{Name: "np1", KubernetesVersion: "1.29.2"}},
		})
	}
	h.states("mallory", map[string]string{"region": "aue"})
	h.updateRun("r1", `{"upgrade":{"type":"Full","kubernetesVersion":"1.29"},"strategy":{"stages":[{"name":"all","memberSelector":{"byLabel":""},"maxConcurrency":"3"}]}}`)
	h.eventually("r1", "NotStarted: berlin NotStarted, mallory NotStarted, oslo NotStarted")
	h.start("r1")
	status := h.eventually("r1", "Running: berlin Running, mallory Skipped RegionNotWritten, oslo Running")
	require.Equal(t, "1.29.9", status.ResolvedKubernetesVersion)
	h.conclude("r1", "berlin", api.OutcomeSucceeded)
	h.conclude("r1", "oslo", api.OutcomeSucceeded)
	h.eventually("r1", "Completed: berlin Completed, mallory Skipped RegionNotWritten, oslo Completed")
	h.told("run/r1", "RegionNotWritten: member mallory", "in region aue, which its agent alone states", "flotilla label member mallory topology.kubernetes.io/region=aue --overwrite")
}
