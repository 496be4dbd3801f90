package house

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/tests/elsewhen"
)

// Of two hubs the leading one stops in the middle of a run; the other one goes on where it was.
func TestAnotherHubTakesARunOver(t *testing.T) {
	h, _, hubs := newBrokerHouse(t)
	h.upgradable(t, four...)
	h.hang("berlin", "lima")
	h.updateRun(t, "r1", 2)
	h.operate(t, api.VerbRunStart, "r1")
	h.begun(t, "berlin", 1)
	h.begun(t, "lima", 1)
	leader(t, hubs).Stop()
	h.resume("berlin", "lima")
	status := h.runIs(t, "r1", "Completed: berlin Completed, lima Completed, oslo Completed, paris Completed")
	h.requireOneEach(t, &status)
}

// An agent ends while its member is upgraded, and is away when that is done. Back again, it says so and
// begins nothing anew.
func TestAgentIsAwayDuringItsUpgrade(t *testing.T) {
	h := newHouse(t)
	h.upgradable(t, "berlin", "oslo")
	h.hang("berlin")
	h.updateRun(t, "r1", 1)
	h.operate(t, api.VerbRunStart, "r1")
	h.begun(t, "berlin", 1)
	h.stopAgent(t, "berlin")
	h.resume("berlin")
	bustest.EventuallyIn(t, patience, func() error {
		if state, _ := h.members["berlin"].UpgradeState(h.members["berlin"].UpgradesBegun()[0]); !state.Ended {
			return errors.New("the upgrade goes on")
		}
		return nil
	})
	h.runIs(t, "r1", "Running: berlin Running, oslo NotStarted")
	h.startAgentWith(t, "berlin", nil)
	status := h.runIs(t, "r1", "Completed: berlin Completed, oslo Completed")
	h.requireOneEach(t, &status)
}

// A run that is stopped lets its running member finish and starts no other, until it is started again.
func TestARunIsStoppedWithWorkInFlight(t *testing.T) {
	h := newHouse(t)
	h.upgradable(t, "berlin", "oslo")
	h.hang("berlin")
	h.updateRun(t, "r1", 1)
	h.operate(t, api.VerbRunStart, "r1")
	h.begun(t, "berlin", 1)
	require.Equal(t, api.StateStopping, h.operate(t, api.VerbRunStop, "r1").State)
	h.resume("berlin")
	h.runIs(t, "r1", "Stopped: berlin Completed, oslo NotStarted")
	require.Empty(t, h.members["oslo"].UpgradesBegun())
	h.operate(t, api.VerbRunStart, "r1")
	status := h.runIs(t, "r1", "Completed: berlin Completed, oslo Completed")
	h.requireOneEach(t, &status)
}

// Two runs want the same members: each member is upgraded by one of them at a time, and by the second
// not at all where nothing is left to do.
func TestTwoRunsOnOneMember(t *testing.T) {
	h := newHouse(t)
	h.upgradable(t, "berlin")
	h.hang("berlin")
	h.updateRun(t, "r1", 1)
	h.updateRun(t, "r2", 1)
	h.operate(t, api.VerbRunStart, "r1")
	h.begun(t, "berlin", 1)
	h.operate(t, api.VerbRunStart, "r2")
	status := h.runIs(t, "r2", "Pending: berlin Pending")
	waiting, _ := stage.MemberStatus(&status, "berlin")
	require.Contains(t, []string{api.ReasonLockedByRun, api.ReasonOperationInProgress}, waiting.Reason)
	h.resume("berlin")
	first := h.runIs(t, "r1", "Completed: berlin Completed")
	h.requireOneEach(t, &first)
	second := h.runIs(t, "r2", "Skipped: berlin Skipped")
	berlin, _ := stage.MemberStatus(&second, "berlin")
	require.Equal(t, api.ReasonAlreadyAtTarget, berlin.Reason)
	require.Len(t, h.members["berlin"].UpgradesBegun(), 1)
}

// leapingClock goes as fast as any other, and leaps when a test says so.
type leapingClock struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (c *leapingClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return elsewhen.Now().Add(c.ahead)
}

func (c *leapingClock) set(t *testing.T, at string) {
	t.Helper()
	now, err := time.Parse(time.RFC3339, at)
	require.NoError(t, err)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead = elsewhen.Until(now)
}

// A member is upgraded in its window only: not before it opens, past its end when it began in it, and
// the next one not after it closed.
func TestAWindowOpensAndCloses(t *testing.T) {
	clock := &leapingClock{}
	clock.set(t, "2026-11-20T12:00:00Z")
	h, broker := newTermHouse(t)
	h.now = clock.Now
	lead(t, broker, rooms{now: clock.Now})
	h.upgradable(t, "berlin", "oslo")
	for _, member := range []string{"berlin", "oslo"} {
		h.apply(t, `apiVersion: flotilla.io/v1alpha1
kind: MemberMaintenance
metadata: {name: `+member+`}
spec:
  aksManagedAutoUpgradeSchedule:
    schedule: {weekly: {intervalWeeks: 1, dayOfWeek: Saturday}}
    durationHours: 4
    startTime: "02:00"
    timeZone: Europe/Berlin
`)
	}
	h.hang("berlin", "oslo")
	h.updateRun(t, "r1", 1)
	h.operate(t, api.VerbRunStart, "r1")
	h.runIs(t, "r1", "Pending: berlin Pending, oslo Pending")
	require.Empty(t, h.members["berlin"].UpgradesBegun())
	clock.set(t, "2026-11-21T04:55:00Z") // 05:55 in Berlin
	h.runIs(t, "r1", "Running: berlin Running, oslo Pending")
	h.begun(t, "berlin", 1)
	clock.set(t, "2026-11-21T05:25:00Z")
	h.resume("berlin")
	h.runIs(t, "r1", "Pending: berlin Completed, oslo Pending")
	require.Empty(t, h.members["oslo"].UpgradesBegun())
	clock.set(t, "2026-11-28T01:00:00Z")
	h.resume("oslo")
	status := h.runIs(t, "r1", "Completed: berlin Completed, oslo Completed")
	h.requireOneEach(t, &status)
}

// catalog publishes versions; members without a region find all of them.
func (h *house) catalog(t *testing.T, versions ...string) {
	t.Helper()
	text := "apiVersion: flotilla.io/v1alpha1\nkind: VersionCatalog\nmetadata: {name: default}\nspec:\n  kubernetes:\n"
	for _, v := range versions {
		text += "  - {version: " + v + ", state: GA, regions: [weu]}\n"
	}
	h.apply(t, text)
}

func (h *house) everyMemberIsAt(t *testing.T, version string) {
	t.Helper()
	bustest.EventuallyIn(t, patience, func() error {
		for name, member := range h.members {
			if at, err := member.Version(t.Context()); err != nil || at != version {
				return fmt.Errorf("%s is at %s (%w), wanted %s", name, at, err, version)
			}
		}
		return nil
	})
}

// A profile upgrades the members whenever a version is published, over a kill of the hub; its runs are
// objects that can be read and deleted once they are over.
func TestAProfileUpgradesTheFleet(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.upgradable(t, "berlin", "oslo")
	h.catalog(t, "1.29.2", "1.29.9")
	h.apply(t, "apiVersion: flotilla.io/v1alpha1\nkind: AutoUpgradeProfile\nmetadata: {name: fast}\nspec: {channel: Rapid}\n")
	h.everyMemberIsAt(t, "v1.29.9")
	h.hub.Kill()
	h.hub.Start(t)
	h.catalog(t, "1.29.2", "1.29.9", "1.30.1")
	h.everyMemberIsAt(t, "v1.30.1")
	for _, member := range h.members {
		require.Len(t, member.UpgradesBegun(), 2)
	}
	var runs api.ListResponse
	require.NoError(t, h.request(t, api.VerbList, api.ListRequest{Kind: api.KindUpdateRun}, &runs))
	require.Len(t, runs.Items, 2)
	for _, item := range runs.Items {
		var run api.UpdateRun
		require.NoError(t, json.Unmarshal(item, &run))
		require.Equal(t, "fast", run.Spec.AutoUpgradeProfile)
		h.runIs(t, run.Name, "Completed: berlin Completed, oslo Completed")
		require.NoError(t, h.request(t, api.VerbDelete, api.DeleteRequest{
			Request: "delete-" + run.Name, Object: api.ObjectRef{APIVersion: api.VersionFlotilla, Kind: api.KindUpdateRun, Name: run.Name},
		}, nil))
		_, err := h.runStatus(t, run.Name)
		require.Error(t, err)
	}
}
