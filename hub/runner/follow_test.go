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
	h := newHarness(t, runner.Options{Poll: never}, "berlin")
	h.updateRun("r1", toNew(1))
	h.start("r1")
	h.eventually("r1", "Running: berlin Running")
	h.record("berlin", "u-berlin", api.MemberUnknown, elsewhen.Now())
	says := func(want bool) {
		bustest.Eventually(t, func() error {
			status, _, _ := h.runs.Get("r1")
			m, _ := stage.MemberStatus(&status, "berlin")
			if strings.Contains(m.Message, "the upgrade cannot be followed") != want {
				return fmt.Errorf("the message is %q", m.Message)
			}
			return nil
		})
	}
	says(true)
	h.told("run/r1", api.ReasonMemberUnreachable, "berlin", "its agent was last heard of at")
	h.record("berlin", "u-berlin", api.MemberReady, elsewhen.Now())
	says(false)
}
