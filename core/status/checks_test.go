package status

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// A rollout under checks says in its condition what they came to; time that it waits for them is nobody's fault.
func TestARolloutUnderChecks(t *testing.T) {
	w := newWorld()
	w.snapshot(t, []string{"2"})
	w.in.Schedule = &api.Schedule{UID: "u1", Generation: 1, Fulfilled: true, Bindings: []api.Binding{{Member: "a"}, {Member: "b"}}}
	w.release(t, []string{"2", "a"})
	w.release(t, []string{"1", "b"})
	w.report(t, []string{"available", "a"})
	at := metav1.NewTime(w.in.Now.Add(-time.Hour))
	for phase, want := range map[string]struct {
		status metav1.ConditionStatus
		reason string
	}{
		api.CheckChecking:       {metav1.ConditionTrue, "RolloutChecking"},
		api.CheckStopped:        {metav1.ConditionFalse, "RolloutChecksFailed"},
		api.CheckRollingBack:    {metav1.ConditionUnknown, "RolloutRollingBack"},
		api.CheckRolledBack:     {metav1.ConditionFalse, "RolloutRolledBack"},
		api.CheckRollBackFailed: {metav1.ConditionFalse, "RolloutRollBackFailed"},
		api.CheckPassed:         {metav1.ConditionTrue, "RolloutProgressing"},
	} {
		record := &api.CheckRecord{UID: "u1", CheckStatus: api.CheckStatus{
			Check: "slow", Snapshot: 2, Phase: phase, Since: at, Holds: at, Message: "all checks hold",
			Refused: &api.CheckRefusal{Snapshot: 2, Message: "errors failed", At: at},
		}}
		w.in.Checks = record
		st := Aggregate(w.in)
		c := st.Conditions[1]
		require.Equal(t, want.status, c.Status, phase)
		require.Equal(t, want.reason, c.Reason, phase)
		require.Equal(t, phase, st.Checks.Phase)
		if phase != api.CheckPassed {
			require.Nil(t, st.Rollout.Deadline, phase)
			require.Contains(t, c.Message, "all checks hold")
			require.Contains(t, c.Message, record.Shown())
		}
		again := *record
		w.in.Checks = &again
		other := Aggregate(w.in)
		require.True(t, Same(&st, &other))
		again.Message = "something else"
		other = Aggregate(w.in)
		require.False(t, Same(&st, &other))
	}
	w.in.Checks.Snapshot = 1
	st := Aggregate(w.in)
	require.Nil(t, st.Checks, "what is told of another snapshot is not of this one")
}
