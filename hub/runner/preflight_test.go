package runner_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/hub/runner"
)

// A51, H42: a member that states another major version refuses nobody's start: it is skipped, by whatever policy. One that states too
// old a version is skipped where the run's policy is to skip.
func TestAVersionThatAMemberStatesRefusesNoStart(t *testing.T) {
	for version, c := range map[string]struct{ policy, mallory string }{
		"2.0.0":  {`{}`, "AheadOfTarget"},
		"1.20.0": {`{"onIneligible":"Skip"}`, "MinorVersionGap"},
		"0.29.2": {`{"onIneligible":"Skip"}`, "UnsupportedVersion"},
	} {
		t.Run(version, func(t *testing.T) {
			h := newHarness(t, runner.Options{Poll: never}, "berlin")
			h.member("mallory", "u-mallory", nil)
			h.inventory("mallory", version)
			h.updateRun("up", `{"policy":`+c.policy+`,"upgrade":{"type":"Full","kubernetesVersion":"1.30.0"},
				"strategy":{"stages":[{"name":"all","memberSelector":{"byLabel":""},"maxConcurrency":"4"}]}}`)
			h.eventually("up", "NotStarted: berlin NotStarted, mallory NotStarted")
			_, err := h.ask(api.VerbRunStart, api.RunRequest{Run: "up", Request: "start-up"})
			require.NoError(t, err)
			h.eventually("up", "Running: berlin Running, mallory Skipped "+c.mallory)
		})
	}
}
