package runner_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/hub/runner"
	"flotilla/tests/elsewhen"
)

func refusal(t *testing.T, err error) *api.Failure {
	t.Helper()
	failure := (*api.Failure)(nil)
	require.ErrorAs(t, err, &failure)
	return failure
}

func TestARepeatedRequestIsAnsweredAndNotRepeated(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin")
	h.updateRun("r1", toNew(1))
	h.start("r1")
	h.conclude("r1", "berlin", api.OutcomeFailed)
	h.eventually("r1", "Failed: berlin Failed UpgradeFailed")
	answer, err := h.ask(api.VerbRunStart, api.RunRequest{Run: "r1", Request: "start-r1"})
	require.NoError(t, err, "a client that heard no answer asks again")
	require.Equal(t, api.StateFailed, answer.State)
	h.eventually("r1", "Failed: berlin Failed UpgradeFailed")

	h.stop()
	h.run()
	_, err = h.ask(api.VerbRunStart, api.RunRequest{Run: "r1", Request: "start-r1"})
	require.NoError(t, err, "another hub remembers")
	h.eventually("r1", "Failed: berlin Failed UpgradeFailed")

	for i := range 20 {
		_, err := h.ask(api.VerbRunSkip, api.RunRequest{
			Run: "r1", Request: fmt.Sprintf("skip-%d", i), Targets: []api.SkipTarget{{Type: api.TargetMember, Name: "berlin"}},
		})
		if i == 0 {
			require.NoError(t, err)
			continue
		}
		require.Contains(t, refusal(t, err).Message, api.CodeTargetAlreadyTerminal)
	}
	status, _, _ := h.runs.Get("r1")
	require.Equal(t, []string{"start-r1.run-start.anna", "skip-0.run-skip.anna"}, status.Requests)
}

func TestARunRemembersTheLastRequestsOnly(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin")
	h.record("berlin", "u-berlin", api.MemberUnknown, elsewhen.Now())
	h.updateRun("r1", toNew(1))
	for i := range 20 {
		verb := []string{api.VerbRunStart, api.VerbRunStop}[i%2]
		_, err := h.ask(verb, api.RunRequest{Run: "r1", Request: fmt.Sprint(i)})
		require.NoError(t, err)
	}
	status, _, _ := h.runs.Get("r1")
	require.Len(t, status.Requests, 16)
	require.Equal(t, "4.run-start.anna", status.Requests[0])
	require.Equal(t, "19.run-stop.anna", status.Requests[15])
}

func TestStopWithWorkInFlight(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin", "oslo")
	h.updateRun("r1", toNew(1))
	h.start("r1")
	answer, err := h.ask(api.VerbRunStop, api.RunRequest{Run: "r1", Request: "stop"})
	require.NoError(t, err)
	require.Equal(t, api.StateStopping, answer.State)
	again, err := h.ask(api.VerbRunStop, api.RunRequest{Run: "r1", Request: "stop-2"})
	require.NoError(t, err)
	require.True(t, again.Unchanged)
	_, err = h.ask(api.VerbRunStart, api.RunRequest{Run: "r1", Request: "start-2"})
	failure := refusal(t, err)
	require.Equal(t, api.CodeConflict, failure.Code)
	require.Contains(t, failure.Message, api.CodeInvalidState+": run r1 is Stopping")
	h.held("uid-r1/berlin/1")
	h.conclude("r1", "berlin", api.OutcomeSucceeded)
	h.eventually("r1", "Stopped: berlin Completed, oslo NotStarted")
	h.held()
	h.startAgain("r1")
	h.eventually("r1", "Running: berlin Completed, oslo Running")
}

func TestGatesWaitForApproval(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin")
	h.updateRun("r1", `{"upgrade":{"type":"Full","kubernetesVersion":"1.29.9"},"strategy":{"stages":[
		{"name":"all","memberSelector":{"byLabel":""},"beforeGates":[{"type":"Approval"}]}]}}`)
	h.start("r1")
	h.eventually("r1", "Pending: berlin NotStarted")
	h.told("run/r1", "gate all/before/Approval NotStarted -> Pending")
	approve := api.RunRequest{Run: "r1", Request: "ok", Gate: "all/before/Approval"}
	_, err := h.ask(api.VerbRunApprove, approve)
	require.NoError(t, err)
	h.eventually("r1", "Running: berlin Running")
	approve.Request = "twice"
	_, err = h.ask(api.VerbRunApprove, approve)
	require.Contains(t, refusal(t, err).Message, api.CodeGateNotPending)
}

func TestAnOperationOnWhatWasReadBefore(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin")
	h.updateRun("r1", toNew(1))
	h.eventually("r1", "NotStarted: berlin NotStarted")
	_, revision, _ := h.runs.Get("r1")
	_, err := h.ask(api.VerbRunStart, api.RunRequest{Run: "r1", Request: "a", ResourceVersion: fmt.Sprintf("%d.%d", h.store.Term.Epoch, revision+1)})
	require.Equal(t, "412", refusal(t, err).Code)
	_, err = h.ask(api.VerbRunStart, api.RunRequest{Run: "r1", Request: "b", ResourceVersion: fmt.Sprintf("%d.%d", h.store.Term.Epoch, revision)})
	require.NoError(t, err)
}

func TestOperationsOnWhatIsNotThere(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin")
	for _, verb := range []string{api.VerbRunStart, api.VerbRunStop, api.VerbRunSkip, api.VerbRunApprove, api.VerbRunRerun, api.VerbRunGenerate} {
		_, err := h.ask(verb, api.RunRequest{Run: "nope", Request: verb})
		failure := refusal(t, err)
		require.Equal(t, api.CodeNotFound, failure.Code, verb)
		require.Contains(t, failure.Message, `"nope"`, verb)
		require.NotEmpty(t, failure.Next, verb)
	}
	_, err := h.room.Verbs()[api.VerbRunStart](bustest.Context(t), anna, []byte("{"))
	require.Equal(t, api.CodeInvalid, refusal(t, err).Code)
}

func TestWithoutABrokerTheAnswerIsToAskAgain(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin")
	h.updateRun("r1", toNew(1))
	h.eventually("r1", "NotStarted: berlin NotStarted")
	h.server.Stop(t)
	bustest.Eventually(t, func() error {
		if h.store.State.Synced() {
			return errors.New("the hub has not noticed")
		}
		return nil
	})
	_, err := h.ask(api.VerbRunStart, api.RunRequest{Run: "r1", Request: "a"})
	require.Equal(t, api.CodeUnavailable, refusal(t, err).Code)
}

func TestRerunOfChosenMembers(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin", "oslo")
	h.updateRun("r1", toNew(2))
	_, err := h.ask(api.VerbRunSkip, api.RunRequest{Run: "r1", Request: "skip", Targets: []api.SkipTarget{{Type: api.TargetMember, Name: "oslo"}}})
	require.NoError(t, err)
	h.start("r1")
	h.conclude("r1", "berlin", api.OutcomeSucceeded)
	h.eventually("r1", "Completed: berlin Completed, oslo Skipped SkippedByUser")
	_, err = h.ask(api.VerbRunRerun, api.RunRequest{Run: "r1", Request: "rerun", Members: []string{api.RerunSkippedByUser}})
	require.NoError(t, err)
	h.eventually("r1", "Running: berlin Completed, oslo Running")
	h.told("run/r1", "Asked", "run-rerun SkippedByUser")
}
