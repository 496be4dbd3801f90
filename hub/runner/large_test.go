package runner_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/hub/runner"
	"flotilla/subjects"
)

// noise is a text that cannot be packed well, the same one every time.
func noise(length int) string {
	raw := make([]byte, length)
	source := rand.NewChaCha8([32]byte{1})
	_, _ = source.Read(raw)
	return base64.StdEncoding.EncodeToString(raw)[:length]
}

// fill makes the record of a run as large as a record can be, in coarse steps and then in fine ones.
func (h *harness) fill(run string) {
	h.t.Helper()
	length := bus.MaxValue
	for _, step := range []int{64000, 8000, 1000, 100, 10} {
		for h.writeFilled(run, length+step) {
			length += step
		}
	}
	shared, _, _ := h.runs.Get(run)
	require.NotEmpty(h.t, shared.Stages[0].Groups[0].Members[0].History, "nothing was filled in")
}

// writeFilled reports whether the record with so much in its history could be written.
func (h *harness) writeFilled(run string, length int) bool {
	h.t.Helper()
	shared, revision, _ := h.runs.Get(run)
	status := copied(h.t, &shared)
	m := &status.Stages[0].Groups[0].Members[0]
	m.History = []api.UpgradeAttempt{{OperationID: "old", Message: noise(length)}}
	_, err := h.store.Writer.Write(bustest.Context(h.t), store.Op{Key: subjects.Runs.Key(run), Value: status, Revision: revision})
	if errors.Is(err, bus.ErrTooLarge) {
		return false
	}
	require.NoError(h.t, err)
	return true
}

// copied is a record that may be changed: those of a table belong to all its readers.
func copied(t testing.TB, status *api.UpdateRunStatus) api.UpdateRunStatus {
	t.Helper()
	text, err := json.Marshal(status)
	require.NoError(t, err)
	var out api.UpdateRunStatus
	require.NoError(t, json.Unmarshal(text, &out))
	return out
}

// A record that is full refuses neither a result nor a stop: its history is shortened.
func TestAFullRecordGoesOn(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin", "oslo", "paris")
	h.updateRun("r1", toNew(2))
	h.start("r1")
	h.eventually("r1", "Running: berlin Running, oslo Running, paris NotStarted")
	h.fill("r1")
	h.result("r1", "oslo", h.operation("r1", "oslo"), api.OutcomeFailed, noise(3000))
	status := h.eventually("r1", "Stopping: berlin Running, oslo Failed UpgradeFailed, paris NotStarted")
	require.Len(t, status.Stages[0].Groups[0].Members[0].History, 1)
	require.Empty(t, status.Stages[0].Groups[0].Members[0].History[0].Message)

	h.conclude("r1", "berlin", api.OutcomeSucceeded)
	h.eventually("r1", "Failed: berlin Completed, oslo Failed UpgradeFailed, paris NotStarted")
}

func TestAFullRecordIsStopped(t *testing.T) {
	h := newHarness(t, runner.Options{Poll: never}, "berlin", "oslo")
	h.updateRun("r1", toNew(1))
	h.start("r1")
	h.eventually("r1", "Running: berlin Running, oslo NotStarted")
	h.fill("r1")
	_, err := h.ask(api.VerbRunStop, api.RunRequest{Run: "r1", Request: strings.NewReplacer("+", "-", "/", "-").Replace(noise(api.MaxRequestID)), Reason: "full"})
	require.NoError(t, err)
	h.eventually("r1", "Stopping: berlin Running, oslo NotStarted")
}
