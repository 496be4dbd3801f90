package runner_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/hub/runner"
	"flotilla/subjects"
)

// catalog publishes GA versions everywhere.
func (h *harness) catalog(generation int64, versions ...string) {
	h.t.Helper()
	var list []string
	for _, v := range versions {
		list = append(list, fmt.Sprintf(`{"version":%q,"state":"GA","regions":["weu"]}`, v))
	}
	h.spec(subjects.CatalogSpecs, api.KindVersionCatalog, api.CatalogDefault, generation, `{"kubernetes":[`+strings.Join(list, ",")+`]}`)
}

func (h *harness) profile(name, spec string) {
	h.t.Helper()
	h.spec(subjects.ProfileSpecs, api.KindAutoUpgradeProfile, name, 1, spec)
}

// made waits until there are so many runs, and returns them as "version state", sorted by name.
func (h *harness) made(count int) map[string]string {
	h.t.Helper()
	found := map[string]string{}
	bustest.Eventually(h.t, func() error {
		clear(found)
		for _, entry := range h.runs.All() {
			found[entry.Value.ResolvedKubernetesVersion] = entry.Name + " " + text(&entry.Value, true)
		}
		if len(found) != count {
			return fmt.Errorf("there are %d runs, wanted %d: %v", len(found), count, found)
		}
		return nil
	})
	return found
}

func (h *harness) version(version, want string) string {
	h.t.Helper()
	return h.versionThat(version, want, func(got string) bool { return got == want })
}

// versionThat waits until a text of the run to a version holds, and returns the run's name.
func (h *harness) versionThat(version, want string, holds func(got string) bool) string {
	h.t.Helper()
	name := ""
	bustest.Eventually(h.t, func() error {
		for _, entry := range h.runs.All() {
			if entry.Value.ResolvedKubernetesVersion == version {
				name = entry.Name
				if got := text(&entry.Value, true); !holds(got) {
					return fmt.Errorf("the run to %s is %q, wanted %q", version, got, want)
				}
				return nil
			}
		}
		return errors.New("no run to " + version)
	})
	return name
}

// A profile makes a run for what its channel stands for and starts it; newer ones wait for it, only the
// newest of them is kept, and it starts when the way is free.
func TestAProfileFollowsItsChannel(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin")
	h.catalog(1, "1.29.2", "1.29.9")
	h.profile("fast", `{"channel":"Rapid"}`)
	first := h.version("1.29.9", "Running: berlin Running")
	h.told("run/"+first, "Created", "by profile fast")
	h.told("profile/fast", "TriggerSucceeded", "created and started run "+first)
	spec, _, found := store.TableOf[api.Spec](h.store.State, subjects.RunSpecs).Get(first)
	require.True(t, found, "a run that a profile makes is an object like any other")
	run, err := api.SpecOf[api.UpdateRun](&spec)
	require.NoError(t, err)
	require.Equal(t, "fast", run.Spec.AutoUpgradeProfile)
	status, _, _ := h.runs.Get(first)
	require.Equal(t, string(run.UID), status.UID)
	require.NotEmpty(t, status.UID)

	h.catalog(2, "1.29.2", "1.29.9", "1.30.1")
	second := h.version("1.30.1", "NotStarted: berlin NotStarted")
	blocked, _, _ := h.runs.Get(second)
	require.Equal(t, first, blocked.BlockedBy)
	h.catalog(3, "1.29.2", "1.29.9", "1.30.1", "1.30.2")
	h.version("1.30.2", "NotStarted: berlin NotStarted")
	require.NotContains(t, h.made(2), "1.30.1")
	h.told("run/"+second, "Removed", "a newer run takes its place", "by profile fast")

	h.conclude(first, "berlin", api.OutcomeSucceeded)
	h.version("1.29.9", "Completed: berlin Completed")
	h.version("1.30.2", "Running: berlin Running")
}

func TestSupersededRunsAreStopped(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin")
	h.catalog(1, "1.29.9")
	h.profile("fast", `{"channel":"Rapid","overlapPolicy":"Supersede"}`)
	first := h.version("1.29.9", "Running: berlin Running")
	h.catalog(2, "1.29.9", "1.30.1")
	h.version("1.29.9", "Stopping: berlin Running")
	h.version("1.30.1", "NotStarted: berlin NotStarted")
	h.conclude(first, "berlin", api.OutcomeSucceeded)
	h.version("1.29.9", "Stopped: berlin Completed")
	h.version("1.30.1", "Running: berlin Running")
}

// A member that joins behind the channel makes a profile act; one that has nobody to move makes no run.
func TestAProfileActsWhenAMemberCouldBeMoved(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never})
	h.catalog(1, "1.29.9")
	h.member("oslo", "u-oslo", nil)
	h.inventory("oslo", "1.29.9")
	h.profile("fast", `{"channel":"Rapid"}`)
	h.made(0)
	h.member("berlin", "u-berlin", nil)
	h.inventory("berlin", "1.29.2")
	const want = "Running: berlin Running" // oslo comes after it, or was found to be there before berlin was ready
	h.versionThat("1.29.9", want, func(got string) bool { return strings.HasPrefix(got, want) })
}

func TestAProfileThatCannotMakeARunSaysWhy(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin")
	h.catalog(1, "1.29.9")
	h.profile("fast", `{"channel":"Rapid","strategyName":"slow"}`)
	profiles := store.TableOf[api.AutoUpgradeProfileStatus](h.store.State, subjects.Profiles)
	noted := func(want string) {
		t.Helper()
		bustest.Eventually(t, func() error {
			if p, _, _ := profiles.Get("fast"); p.LastTriggerStatus != want {
				return fmt.Errorf("noted %+v, wanted %s", p, want)
			}
			return nil
		})
	}
	noted(api.TriggerFailed)
	h.told("profile/fast", "TriggerFailed", "there is no UpdateStrategy slow")
	h.spec(subjects.StrategySpecs, api.KindUpdateStrategy, "slow", 1, `{"stages":[{"name":"all","memberSelector":{"byLabel":""}}]}`)
	h.version("1.29.9", "Running: berlin Running")
	noted(api.TriggerSucceeded)

	h.put(subjects.ProfileSpecs.Key("fast"), nil)
	noted("")
	h.version("1.29.9", "Running: berlin Running")
}

// Generating makes the run once, does not start it, and finds it whatever became of it.
func TestGenerate(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin")
	h.catalog(1, "1.29.9")
	h.profile("fast", `{"channel":"Rapid","disabled":true}`)
	first, err := h.ask(api.VerbRunGenerate, api.RunRequest{Run: "fast", Request: "a"})
	require.NoError(t, err)
	require.False(t, first.Unchanged)
	require.Equal(t, api.StateNotStarted, first.State)
	again, err := h.ask(api.VerbRunGenerate, api.RunRequest{Run: "fast", Request: "b"})
	require.NoError(t, err)
	require.True(t, again.Unchanged)
	require.Equal(t, first.Run, again.Run)
	h.start(first.Run)
	h.conclude(first.Run, "berlin", api.OutcomeSucceeded)
	h.eventually(first.Run, "Completed: berlin Completed")
	again, err = h.ask(api.VerbRunGenerate, api.RunRequest{Run: "fast", Request: "c"})
	require.NoError(t, err)
	require.Equal(t, first.Run, again.Run)
	require.Equal(t, api.StateCompleted, again.State)
}
