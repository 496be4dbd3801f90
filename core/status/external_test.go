package status

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// Staged runs say what members hold: while they hold several revisions nobody says that one of them is the right one, and
// when they hold the same the conditions are of that, whether it is the newest or not.
func TestAPlacementThatStagedRunsBring(t *testing.T) {
	w := newWorld()
	w.in.Placement.Spec.Strategy.Type = api.StrategyExternal
	w.snapshot(t, []string{"2"})
	w.schedule(t, []string{"all", "berlin", "oslo"})
	rolls := func() metav1.Condition {
		st := Aggregate(w.in)
		require.Nil(t, st.Rollout, "what stands still is told by the run")
		return st.Conditions[1]
	}
	require.Equal(t, "RolloutControlledByExternalController", rolls().Reason)

	w.release(t, []string{"1", "berlin"})
	require.Equal(t, metav1.ConditionUnknown, rolls().Status)
	require.Equal(t, "members hold what staged runs gave them: snapshot 1 on 1 member, none on 1 member", rolls().Message)
	require.Empty(t, Aggregate(w.in).ObservedSnapshot)

	w.release(t, []string{"1", "berlin", "oslo"})
	w.report(t, []string{"available", "berlin"})
	w.report(t, []string{"available", "oslo"})
	st := Aggregate(w.in)
	require.Equal(t, "1", st.ObservedSnapshot)
	for _, c := range st.Conditions {
		require.Equal(t, metav1.ConditionTrue, c.Status, "%s: %s", c.Type, c.Message)
	}
	require.Equal(t, 2, st.Counts.Available)

	require.Equal(t, "snapshot 1 is released to all 2 members", rolls().Message)
	waits := func(member string) api.Held { return api.Held{Member: member, Reason: "waits for a staged run"} }
	w.in.Release.Held = []api.Held{waits("berlin"), waits("oslo")}
	require.Equal(t, "snapshot 1 is released to all 2 members; snapshot 2, the newest, is for a staged run to bring", rolls().Message)
	w.release(t, []string{"2", "berlin"})
	w.in.Release.Held = []api.Held{waits("oslo")}
	require.Equal(t, "members hold what staged runs gave them: snapshot 2 on 1 member, snapshot 1 on 1 member; 1 member waits for a staged run", rolls().Message)
	w.release(t, []string{"2", "berlin", "oslo"})
	w.in.Release.Held = []api.Held{waits("berlin"), waits("oslo")} // overrides changed
	require.Equal(t, "snapshot 2 is released to all 2 members; 2 members wait for a staged run", rolls().Message)
}
