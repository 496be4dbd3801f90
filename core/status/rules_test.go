package status

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// randomWorld is any mixture of members, releases and results.
func randomWorld(t *testing.T, seed uint64) *world {
	rng := rand.New(rand.NewPCG(seed, 1))
	w := newWorld()
	w.snapshot(t, []string{"2"})
	var names []string
	for i := range 1 + rng.IntN(12) {
		names = append(names, fmt.Sprintf("m%02d", i))
	}
	s := &api.Schedule{UID: "u1", Generation: 1, Fulfilled: rng.IntN(4) > 0}
	for _, name := range names {
		s.Bindings = append(s.Bindings, api.Binding{Member: name, Waiting: rng.IntN(9) == 0, Reason: "picked"})
		switch rng.IntN(5) {
		case 0:
			continue
		case 1:
			w.release(t, []string{"withdrawn", name})
			continue
		}
		w.release(t, []string{[]string{"1", "2"}[rng.IntN(2)], name})
		if rng.IntN(4) > 0 {
			what := []string{"available", "untrackable", "unavailable", "failed", "applying", "withdrawn"}[rng.IntN(6)]
			w.report(t, []string{what, name})
		}
		if rng.IntN(4) == 0 {
			w.release(t, []string{"2", name})
		}
		if rng.IntN(4) == 0 {
			w.member(t, []string{name, "Unknown"})
		}
	}
	w.in.Schedule = s
	return w
}

func TestChainsStopAtTheFirstThatIsNotTrue(t *testing.T) {
	for seed := range uint64(500) {
		w := randomWorld(t, seed)
		st := Aggregate(w.in)
		requireChain(t, chainOf(st), "ClusterResourcePlacement")
		for _, m := range membersOf(w.in) {
			requireChain(t, m.Conditions[1:], "")
		}
	}
}

// chainOf are the conditions between Scheduled and how the rollout does.
func chainOf(st api.PlacementStatus) []metav1.Condition {
	return slices.DeleteFunc(slices.Clone(st.Conditions[1:]), func(c metav1.Condition) bool {
		return c.Type == "ClusterResourcePlacement"+api.ConditionRolloutProgressing
	})
}

func requireChain(t *testing.T, conditions []metav1.Condition, prefix string) {
	order := []string{api.ConditionRolloutStarted, api.ConditionOverridden, api.ConditionWorkSynchronized, api.ConditionApplied, api.ConditionAvailable}
	require.LessOrEqual(t, len(conditions), len(order))
	for i, c := range conditions {
		require.Equal(t, prefix+order[i], c.Type)
		if i < len(conditions)-1 {
			require.Equal(t, metav1.ConditionTrue, c.Status, "something follows %s", c.Type)
		}
	}
	if n := len(conditions); n > 0 && n < len(order) {
		require.NotEqual(t, metav1.ConditionTrue, conditions[n-1].Status, "nothing follows %s", conditions[n-1].Type)
	}
}

func TestUnknownGoesBeforeFalseBeforeTrue(t *testing.T) {
	for seed := range uint64(500) {
		w := randomWorld(t, seed)
		members := membersOf(w.in)
		for _, c := range chainOf(Aggregate(w.in)) {
			want := metav1.ConditionTrue
			for _, m := range members {
				i := slices.IndexFunc(m.Conditions, func(mc metav1.Condition) bool { return c.Type == "ClusterResourcePlacement"+mc.Type })
				if i < 0 {
					require.Equal(t, metav1.ConditionFalse, m.Conditions[0].Status, "%s ends early, so the placement's chain must have ended too", m.ClusterName)
					continue
				}
				switch got := m.Conditions[i].Status; {
				case got == metav1.ConditionUnknown, got == metav1.ConditionFalse && want == metav1.ConditionTrue:
					want = got
				}
			}
			require.Equal(t, want, c.Status, c.Type)
		}
	}
}

func TestOrderOfInputsDoesNotMatter(t *testing.T) {
	for seed := range uint64(100) {
		w := randomWorld(t, seed)
		want, err := json.Marshal(Aggregate(w.in))
		require.NoError(t, err)
		before, err := json.Marshal(w.in)
		require.NoError(t, err)
		schedule := *w.in.Schedule
		schedule.Bindings = slices.Clone(schedule.Bindings)
		slices.Reverse(schedule.Bindings)
		shuffled := w.in
		shuffled.Schedule = &schedule
		got, err := json.Marshal(Aggregate(shuffled))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
		after, err := json.Marshal(w.in)
		require.NoError(t, err)
		require.Equal(t, string(before), string(after), "the input was changed")
	}
}

func TestRecordsAreCut(t *testing.T) {
	w := newWorld()
	w.snapshot(t, []string{"1"})
	for range 150 {
		w.in.Latest.Manifests = append(w.in.Latest.Manifests, w.in.Latest.Manifests[0])
	}
	args := []string{"all"}
	for i := range 250 {
		name := fmt.Sprintf("m%03d", i)
		args = append(args, name)
		w.release(t, []string{"withdrawn", "gone-" + name})
		w.release(t, []string{"1", name})
		w.report(t, []string{"failed", name})
		w.in.Results[name].Failures = make([]api.ManifestFailure, 130)
		for j := range w.in.Results[name].Failures {
			w.in.Results[name].Failures[j] = api.ManifestFailure{Condition: "Applied", Reason: "ManifestApplyFailed"}
		}
	}
	w.schedule(t, args)
	st := Aggregate(w.in)
	require.Len(t, st.PlacementStatuses, 100)
	require.Equal(t, "m099", st.PlacementStatuses[99].ClusterName)
	require.Len(t, st.PlacementStatuses[0].FailedPlacements, 100)
	require.Len(t, st.SelectedResources, 100)
	require.Equal(t, 152, st.SelectedTotal)
	require.Len(t, st.Unconfirmed, 100)
	require.Equal(t, 250, st.Counts.Unconfirmed)
	require.Equal(t, 250, st.Counts.Failed)
	require.Len(t, membersOf(w.in), 250)
}

func TestAnotherUIDIsAnotherPlacement(t *testing.T) {
	w := newWorld()
	w.snapshot(t, []string{"1"})
	w.schedule(t, []string{"all", "berlin"})
	w.release(t, []string{"1", "berlin"})
	w.report(t, []string{"available", "berlin"})
	st := Aggregate(w.in)
	require.Equal(t, 1, st.Counts.Available)

	w.in.Previous = &st
	w.in.Placement.UID = "u2"
	anew := Aggregate(w.in)
	require.Len(t, anew.Conditions, 1)
	require.Equal(t, "SchedulePending", anew.Conditions[0].Reason)
	require.Zero(t, anew.Counts.Picked)
	require.Empty(t, anew.ObservedSnapshot)
	require.Empty(t, Events(&st, anew, start))
}
