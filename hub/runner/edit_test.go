package runner_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/hub/runner"
	"flotilla/subjects"
)

// An edit before the first start keeps what users skipped, and tells what it could not keep.
func TestAnEditKeepsWhatUsersSkipped(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin", "oslo", "paris")
	h.updateRun("r1", toNew(1))
	h.eventually("r1", "NotStarted: berlin NotStarted, oslo NotStarted, paris NotStarted")
	for _, member := range []string{"berlin", "oslo"} {
		_, err := h.ask(api.VerbRunSkip, api.RunRequest{Run: "r1", Request: "skip-" + member, Targets: []api.SkipTarget{{Type: api.TargetMember, Name: member}}})
		require.NoError(t, err)
	}
	edited := `{"upgrade":{"type":"Full","kubernetesVersion":"1.30.1"},"strategy":{"stages":[{"name":"one","memberSelector":{"byLabel":"kubernetes-fleet.io/member-name in (%s)"}}]}}`
	h.spec(subjects.RunSpecs, api.KindUpdateRun, "r1", 2, fmt.Sprintf(edited, "oslo,paris"))
	status := h.eventually("r1", "NotStarted: oslo Skipped SkippedByUser, paris NotStarted")
	require.Contains(t, status.Warnings, "the edit took away what a user had skipped: Member:berlin")

	h.spec(subjects.RunSpecs, api.KindUpdateRun, "r1", 3, fmt.Sprintf(edited, "oslo"))
	h.eventually("r1", "NotStarted: oslo Skipped SkippedByUser")
}
