package runner_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/hub/runner"
	"flotilla/subjects"
)

// ticking is a runner under fake time: it looks at its runs all the time, and sees what the clock shows.
func ticking(c *clock) runner.Options {
	return runner.Options{Now: c.Now, Poll: 10 * time.Millisecond}
}

// A window that opens lets its member start, one that closed does not, and what started in it goes on
// past its end.
func TestAWindowOpensAndCloses(t *testing.T) {
	c := newClock("2026-11-20T12:00:00Z") // a Friday
	h := newHarness(t, ticking(c), "berlin", "oslo")
	for _, member := range []string{"berlin", "oslo"} {
		h.spec(subjects.MaintenanceSpecs, api.KindMemberMaintenance, member, 1, `{"aksManagedAutoUpgradeSchedule":
			{"schedule":{"weekly":{"intervalWeeks":1,"dayOfWeek":"Saturday"}},"durationHours":4,"startTime":"02:00","utcOffset":"+02:00"}}`)
	}
	h.updateRun("r1", toNew(1))
	h.start("r1")
	status := h.eventually("r1", "Pending: berlin Pending MaintenanceWindowClosed, oslo Pending MaintenanceWindowClosed")
	berlin, _ := stage.MemberStatus(&status, "berlin")
	require.Equal(t, "2026-11-21T00:00:00Z", berlin.NextEligibleTime.UTC().Format(time.RFC3339))

	c.set(t, "2026-11-20T23:59:59Z")
	c.pass(t)
	h.eventually("r1", "Pending: berlin Pending MaintenanceWindowClosed, oslo Pending MaintenanceWindowClosed")
	c.set(t, "2026-11-21T03:55:00Z")
	h.eventually("r1", "Running: berlin Running, oslo Pending MaintenanceWindowClosed")
	c.set(t, "2026-11-21T04:25:00Z")
	h.conclude("r1", "berlin", api.OutcomeSucceeded)
	h.eventually("r1", "Pending: berlin Completed, oslo Pending MaintenanceWindowClosed")
	c.set(t, "2026-11-28T00:00:00Z")
	h.eventually("r1", "Running: berlin Completed, oslo Running")
}

// A hub that was away while a window opened starts the member when it is back.
func TestAWindowThatOpenedWhileNoHubWasThere(t *testing.T) {
	c := newClock("2026-11-20T12:00:00Z")
	h := newHarness(t, ticking(c), "berlin")
	h.spec(subjects.MaintenanceSpecs, api.KindMemberMaintenance, "berlin", 1, `{"aksManagedAutoUpgradeSchedule":
		{"schedule":{"daily":{"intervalDays":1}},"durationHours":4,"startTime":"02:00"}}`)
	h.updateRun("r1", toNew(1))
	h.start("r1")
	h.eventually("r1", "Pending: berlin Pending MaintenanceWindowClosed")
	h.stop()
	c.set(t, "2026-11-21T02:30:00Z")
	h.run()
	status := h.eventually("r1", "Running: berlin Running")
	berlin, _ := stage.MemberStatus(&status, "berlin")
	require.Equal(t, "2026-11-21T02:30:00Z", berlin.Status.StartTime.UTC().Format(time.RFC3339))
}

// A window that cannot be read counts as closed, and somebody is told.
func TestAWindowThatCannotBeRead(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin")
	h.spec(subjects.MaintenanceSpecs, api.KindMemberMaintenance, "berlin", 1, `{"aksManagedAutoUpgradeSchedule":
		{"schedule":{"daily":{"intervalDays":1}},"durationHours":4,"startTime":"02:00","timeZone":"Nowhere/Town"}}`)
	h.updateRun("r1", toNew(1))
	h.start("r1")
	h.eventually("r1", "Pending: berlin Pending MaintenanceWindowClosed")
	h.told("member/berlin", "MemberUnreadable", "Nowhere/Town", "its upgrades wait")
}

// That a member cannot be read is told once however often its agent has it read, and now and then while that lasts.
func TestWhatCannotBeReadIsToldNowAndThen(t *testing.T) {
	c := newClock("2026-11-20T12:00:00Z")
	h := newHarness(t, ticking(c), "berlin")
	h.updateRun("r1", toNew(1))
	h.start("r1")
	h.eventually("r1", "Running: berlin Running")
	h.spec(subjects.MaintenanceSpecs, api.KindMemberMaintenance, "berlin", 1, `{"aksManagedAutoUpgradeSchedule":
		{"schedule":{"daily":{"intervalDays":1}},"durationHours":4,"startTime":"02:00","timeZone":"Nowhere/Town"}}`)
	h.told("member/berlin", "MemberUnreadable", "Nowhere/Town")
	for i, at := range []string{"2026-11-20T12:00:01Z", "2026-11-20T12:09:59Z", "2026-11-20T12:10:01Z", "2026-11-20T12:20:00Z"} {
		c.set(t, at)
		for j := range 3 {
			h.inventory("berlin", fmt.Sprintf("1.29.%d", 10*i+j))
			c.pass(t)
		}
	}
	h.store.Audit.Record(api.Audit{Object: "member/berlin", Reason: "Seen", Message: "all"})
	require.Len(t, bustest.EventsUntil(t, h.store.Conn, "member/berlin", "Seen: all"), 3, "two warnings, and that")
}

const timedOut = `{"upgrade":{"type":"Full","kubernetesVersion":"1.29.9"},"policy":{"memberTimeout":"1h"}}`

// An operation that takes too long is given up and left alone: its member stays locked until its agent
// says how it ended, which the history keeps.
func TestALateResultIsKept(t *testing.T) {
	c := newClock("2026-11-20T12:00:00Z")
	h := newHarness(t, ticking(c), "berlin")
	h.updateRun("r1", timedOut)
	h.start("r1")
	h.eventually("r1", "Running: berlin Running")
	c.set(t, "2026-11-20T12:59:59Z")
	c.pass(t)
	h.eventually("r1", "Running: berlin Running")
	c.set(t, "2026-11-20T13:00:00Z")
	h.eventually("r1", "Failed: berlin Failed Timeout")
	h.held("uid-r1/berlin/1")
	h.startAgain("r1")
	c.pass(t)
	h.eventually("r1", "Pending: berlin Pending OperationInProgress")

	h.result("r1", "berlin", "uid-r1/berlin/1", api.OutcomeSucceeded, "at last")
	status := h.eventually("r1", "Running: berlin Running")
	h.held("uid-r1/berlin/2")
	berlin, _ := stage.MemberStatus(&status, "berlin")
	require.Equal(t, 2, berlin.Attempt)
	late := berlin.History[len(berlin.History)-1]
	require.True(t, late.Late)
	require.Equal(t, "at last", late.Message)
	require.Equal(t, "uid-r1/berlin/1", late.OperationID)
}

// The lock of an agent that is silent is given up ten minutes after its last heartbeat, not while it beats.
func TestTheLockOfASilentAgentIsGivenUp(t *testing.T) {
	c := newClock("2026-11-20T12:00:00Z")
	h := newHarness(t, ticking(c), "berlin")
	h.beat("berlin")
	h.updateRun("r1", timedOut)
	h.start("r1")
	c.set(t, "2026-11-20T13:00:00Z")
	h.eventually("r1", "Failed: berlin Failed Timeout")
	c.set(t, "2026-11-20T15:00:00Z")
	c.pass(t)
	h.updateRun("r2", toNew(1))
	h.start("r2")
	h.eventually("r2", "Pending: berlin Pending LockedByRun")
	h.held("uid-r1/berlin/1")

	h.record("berlin", "u-berlin", api.MemberUnknown, c.Now())
	h.eventually("r2", "Pending: berlin Pending MemberUnreachable")
	c.set(t, "2026-11-20T15:09:59Z")
	c.pass(t)
	h.held("uid-r1/berlin/1")
	c.set(t, "2026-11-20T15:10:00Z")
	h.held()
	h.record("berlin", "u-berlin", api.MemberReady, c.Now())
	h.eventually("r2", "Running: berlin Running")
}
