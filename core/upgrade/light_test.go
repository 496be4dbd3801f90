package upgrade_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/stage"
	"flotilla/core/upgrade"
)

// recordRoom is what a record may take once it is packed.
const recordRoom = 900 << 10

// prose is a message of the most that an agent sends, different for every operation.
func prose(seed int) string {
	words := strings.Fields("node pool drain eviction blocked budget pod namespace timeout quota subnet address exhausted retry " +
		"provider returned status conflict operation another progress kubelet ready notready taint version upgrade surge image")
	var b strings.Builder
	for state := uint32(seed + 1); b.Len() < 4000; {
		state = state*1664525 + 1013904223
		b.WriteString(words[int(state>>16)%len(words)])
		fmt.Fprintf(&b, "-%d ", state>>24)
	}
	return b.String()
}

func packed(t *testing.T, status *api.UpdateRunStatus) int {
	t.Helper()
	value, err := json.Marshal(status)
	require.NoError(t, err)
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err = z.Write(value)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return out.Len()
}

// failing is a run of 1,000 members, each of which failed ten times and said as much about it as it may.
func failing(t *testing.T) api.UpdateRunStatus {
	t.Helper()
	run, view := thousand(t, 20, 50)
	for i := range run.Spec.Strategy.Stages {
		stage := &run.Spec.Strategy.Stages[i]
		stage.MaxAllowedFailures = "100%"
		for j := range stage.Groups {
			stage.Groups[j].MaxAllowedFailures = "100%"
		}
	}
	status, refusal := upgrade.Create(run, nil, view, benchNow)
	require.Nil(t, refusal)
	seed := 0
	sim := upgrade.NewSimulation(run, status, view, benchNow, func(string, int) upgrade.Assumed {
		seed++
		return upgrade.Assumed{Duration: time.Minute, Reason: api.ReasonUpgradeFailed, Message: prose(seed)}
	})
	at := benchNow
	_, refusal = sim.Operate(at, api.VerbRunStart, &api.RunRequest{})
	require.Nil(t, refusal)
	for range api.MaxHistory {
		at = at.Add(24 * time.Hour)
		_, refusal = sim.Operate(at, api.VerbRunRerun, &api.RunRequest{Members: []string{api.RerunFailed}})
		require.Nil(t, refusal)
	}
	sim.Until(at.Add(24 * time.Hour))
	require.Equal(t, 1000, sim.Status.FailureCount)
	return sim.Status
}

// What agents say cannot make a record too large to be written.
func TestARecordHoldsWhatAThousandMembersSay(t *testing.T) {
	status := failing(t)
	member := &status.Stages[3].Groups[4].Members[0]
	require.Len(t, member.History, api.MaxHistory)
	require.LessOrEqual(t, len(member.Message), 520)
	require.LessOrEqual(t, len(member.History[0].Message), 136)
	size := packed(t, &status)
	require.Less(t, size, recordRoom)
	t.Logf("1,000 members after %d attempts: %d KiB packed", member.Attempt, size>>10)

	for weight := 1; weight <= stage.Weights; weight++ {
		lighter := stage.Lighter(status, weight)
		now := packed(t, &lighter)
		require.Less(t, now, size, "weight %d", weight)
		require.Equal(t, stage.Text(&status), stage.Text(&lighter))
		size = now
	}
	require.Len(t, member.History, api.MaxHistory, "the one that was given is unchanged")
	require.NotEmpty(t, member.Message)

	require.Empty(t, status.Stages[0].Groups[0].Members[0].Status.Error.Message)
	explained := stage.Explained(&status)
	told := explained.Stages[0].Groups[0].Members[0]
	require.NotEmpty(t, told.Message)
	require.Equal(t, told.Message, told.Status.Error.Message)
}
