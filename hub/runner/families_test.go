package runner_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/runner"
	"flotilla/subjects"
)

// H42: a member that states other families of images again and again has no further run made under a profile that lets runs
// overlap; one is made for what the catalog publishes next, and for nothing before.
func TestFamiliesThatAMemberStatesMakeNoRun(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never})
	const families = 8
	publish := func(generation int64, versions ...string) {
		var images []string
		for i := range families {
			for _, v := range versions {
				images = append(images, fmt.Sprintf(`{"family":"F%d","version":%q,"regions":["weu"]}`, i, v))
			}
		}
		h.spec(subjects.CatalogSpecs, api.KindVersionCatalog, api.CatalogDefault, generation, `{"nodeImages":[`+strings.Join(images, ",")+`]}`)
	}
	state := func(member string, set int) {
		inventory := api.MemberInventory{Region: "weu", ControlPlaneVersion: "1.29.2"}
		for i := range families {
			if set>>i&1 == 1 {
				inventory.NodePools = append(inventory.NodePools, api.NodePoolFacts{
					Name: fmt.Sprint("np", i), KubernetesVersion: "1.29.2", NodeImageVersion: fmt.Sprintf("F%d-202401.1.0", i),
				})
			}
		}
		h.report(member, inventory)
	}
	runs := func(count int) {
		t.Helper()
		bustest.Eventually(t, func() error {
			if made := h.runs.All(); len(made) != count {
				return fmt.Errorf("there are %d runs, wanted %d", len(made), count)
			}
			return nil
		})
	}
	publish(1, "202401.1.0", "202402.1.0")
	for _, name := range []string{"berlin", "mallory"} {
		h.member(name, "u-"+name, nil)
		state(name, 1)
	}
	h.profile("img", `{"channel":"NodeImage","overlapPolicy":"Allow"}`)
	runs(1)
	first := h.runs.All()[0].Name
	for set := range 12 {
		state("mallory", 1|set<<1)
		answer, err := h.ask(api.VerbRunGenerate, api.RunRequest{Run: "img", Request: fmt.Sprint("set-", set)})
		require.NoError(t, err)
		require.Equal(t, first, answer.Run)
		require.True(t, answer.Unchanged)
	}
	runs(1)
	publish(2, "202401.1.0", "202403.1.0")
	runs(2)
}
