package house

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/subjects"
)

// The hub ends after it wrote that a member runs, and before it told the member: the next one tells it.
func TestHubCrashesBeforeTheCommand(t *testing.T) {
	h, broker := newTermHouse(t)
	first := lead(t, broker, rooms{withoutDispatcher: true})
	h.upgradable(t, "berlin", "oslo")
	h.updateRun(t, "r1", 1)
	h.operate(t, api.VerbRunStart, "r1")
	h.runIs(t, "r1", "Running: berlin Running, oslo NotStarted")
	first.crash()
	require.Empty(t, h.members["berlin"].UpgradesBegun())

	lead(t, broker, rooms{})
	status := h.runIs(t, "r1", "Completed: berlin Completed, oslo Completed")
	h.requireOneEach(t, &status)
}

// The hub ends after the command and before the result: the agent works meanwhile, and the next hub
// neither starts the member again nor misses that it is done.
func TestHubCrashesAfterTheCommand(t *testing.T) {
	h, broker := newTermHouse(t)
	first := lead(t, broker, rooms{})
	h.upgradable(t, "berlin", "oslo")
	h.stopAgent(t, "berlin")
	h.updateRun(t, "r1", 1)
	h.operate(t, api.VerbRunStart, "r1")
	bustest.EventuallyIn(t, patience, func() error {
		_, _, err := first.store.Commands.Get(t.Context(), "berlin", subjects.CommandUpgrade)
		return err
	})
	first.crash()
	h.startAgentWith(t, "berlin", nil)
	h.begun(t, "berlin", 1)

	lead(t, broker, rooms{})
	status := h.runIs(t, "r1", "Completed: berlin Completed, oslo Completed")
	h.requireOneEach(t, &status)
}

// The hub ends after the result and before it wrote it down: the next one reads it.
func TestHubCrashesAfterTheResult(t *testing.T) {
	h, broker := newTermHouse(t)
	first := lead(t, broker, rooms{})
	h.upgradable(t, "berlin", "oslo")
	h.hang("berlin")
	h.updateRun(t, "r1", 1)
	h.operate(t, api.VerbRunStart, "r1")
	h.begun(t, "berlin", 1)
	first.crash()

	second := lead(t, broker, rooms{withoutRunner: true})
	h.resume("berlin")
	key := subjects.ResultKey("berlin", subjects.CommandUpgrade, "r1")
	bustest.EventuallyIn(t, patience, func() error {
		entry, found := second.store.Results.Get(key)
		if !found {
			return errors.New("no result")
		}
		result, err := watch.Decode[api.UpgradeResult](entry)
		if err != nil || result.Outcome != api.OutcomeSucceeded {
			return fmt.Errorf("result %+v: %w", result, err)
		}
		return nil
	})
	h.runIs(t, "r1", "Running: berlin Running, oslo NotStarted")
	second.crash()

	lead(t, broker, rooms{})
	status := h.runIs(t, "r1", "Completed: berlin Completed, oslo Completed")
	h.requireOneEach(t, &status)
}

// A hub process is killed again and again while it works: whatever the moment, every member is upgraded
// once.
func TestHubProcessIsKilledDuringARun(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.upgradable(t, four...)
	h.hang(four...)
	h.updateRun(t, "r1", 2)
	h.operate(t, api.VerbRunStart, "r1")
	h.begun(t, "berlin", 1)
	h.begun(t, "lima", 1)
	h.hub.Kill()
	h.hub.Start(t)
	h.resume("berlin")
	h.begun(t, "oslo", 1)
	h.hub.Kill()
	h.resume("lima", "oslo")
	h.hub.Start(t)
	h.begun(t, "paris", 1)
	h.hub.Kill()
	h.resume("paris")
	h.hub.Start(t)
	status := h.runIs(t, "r1", "Completed: berlin Completed, lima Completed, oslo Completed, paris Completed")
	h.requireOneEach(t, &status)
	for _, name := range four {
		version, err := h.members[name].Version(t.Context())
		require.NoError(t, err)
		require.Equal(t, "v1.29.9", version, name)
	}
}
