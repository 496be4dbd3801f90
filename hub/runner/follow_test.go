package runner_test

import (
	"fmt"
	"strings"
	"testing"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/hub/runner"
	"flotilla/tests/elsewhen"
)

// A member whose agent falls silent while it is upgraded is named at once, not at the next look.
func TestARunningMemberThatFallsSilentIsNamed(t *testing.T) {
	y := newYard(t, runner.Options{Poll: never}, "berlin")
	y.updateRun("r1", toNew(1))
	y.start("r1")
	y.eventually("r1", "Running: berlin Running")
	y.record("berlin", "u-berlin", api.MemberUnknown, elsewhen.Now())
	says := func(want bool) {
		bustest.Eventually(t, func() error {
			status, _, _ := y.runs.Get("r1")
			m, _ := stage.MemberStatus(&status, "berlin")
			if strings.Contains(m.Message, "the upgrade cannot be followed") != want {
				return fmt.Errorf("the message is %q", m.Message)
			}
			return nil
		})
	}
	says(true)
	y.told("run/r1", api.ReasonMemberUnreachable, "berlin", "its agent was last heard of at")
	y.record("berlin", "u-berlin", api.MemberReady, elsewhen.Now())
	says(false)
}
