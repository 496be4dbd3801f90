package overview_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/overview"
)

// Every state has a sign; one that nobody knows is Away, or Bad of a disruption.
func TestEveryStateHasASign(t *testing.T) {
	for sign, of := range map[overview.Sign]struct {
		members       []api.MemberState
		entries       []string
		updates       []api.UpdateState
		nodes, phases []string
	}{
		overview.Well: {
			[]api.MemberState{api.MemberReady},
			[]string{api.EntryAvailable, api.EntrySame},
			[]api.UpdateState{api.StateCompleted, api.StateSkipped},
			[]string{api.NodeReady},
			[]string{api.PhaseDone},
		},
		overview.Moving: {
			[]api.MemberState{api.MemberLeaving},
			[]string{api.EntryApplying, api.EntryWithdrawing},
			[]api.UpdateState{api.StateRunning, api.StateStopping},
			[]string{api.NodeDisrupting, api.NodeDeleting},
			[]string{api.PhaseLaunching, api.PhaseDraining},
		},
		overview.Waiting: {
			[]api.MemberState{api.MemberJoining},
			[]string{api.EntryPending, api.EntryWaiting, api.EntryKept},
			[]api.UpdateState{api.StateNotStarted, api.StatePending},
			[]string{api.NodeNotInitialized},
			[]string{api.PhaseWaiting},
		},
		overview.Warn: {
			nil,
			[]string{api.EntryNotAvailable, api.EntryDrifted, api.EntryDiffers, api.EntryMissing},
			[]api.UpdateState{api.StateStopped},
			nil,
			[]string{api.PhaseAborted},
		},
		overview.Bad: {
			[]api.MemberState{api.MemberNotReady}, []string{api.EntryFailed}, []api.UpdateState{api.StateFailed}, []string{api.NodeNotReady}, []string{"odd"},
		},
		overview.Away: {[]api.MemberState{api.MemberUnknown, ""}, []string{"odd"}, []api.UpdateState{""}, []string{""}, nil},
	} {
		all(t, sign, overview.SignOfMember, of.members)
		all(t, sign, overview.SignOfEntry, of.entries)
		all(t, sign, overview.SignOfUpdate, of.updates)
		all(t, sign, overview.SignOfNode, of.nodes)
		all(t, sign, overview.SignOfPhase, of.phases)
	}
}

func all[S ~string](t *testing.T, want overview.Sign, of func(S) overview.Sign, states []S) {
	t.Helper()
	for _, state := range states {
		require.Equal(t, want, of(state), state)
	}
}

func TestSignsAreWrittenByName(t *testing.T) {
	for _, sign := range overview.Signs() {
		text, err := json.Marshal(sign)
		require.NoError(t, err)
		var read overview.Sign
		require.NoError(t, json.Unmarshal(text, &read))
		require.Equal(t, sign, read)
	}
	var read overview.Sign
	require.ErrorContains(t, read.UnmarshalText([]byte("odd")), `sign "odd": expected one of [Well Moving Waiting Warn Bad Away]`)
	require.Equal(t, []string{"Sign(6)", "○", "○"}, []string{overview.Sign(6).String(), overview.Sign(6).Glyph(), overview.Away.Glyph()})
}

func TestTheWorstIsCountedFirst(t *testing.T) {
	counts := overview.BySign{Well: 3, Warn: 1, Moving: 2}
	require.Equal(t, []overview.Tally{{"Warn", overview.Warn, 1}, {"Moving", overview.Moving, 2}, {"Well", overview.Well, 3}}, counts.Tallies())
	require.Equal(t, overview.Warn, counts.Worst())
	require.Equal(t, overview.Well, (&overview.BySign{}).Worst())

	leaving := &overview.Member{State: api.MemberReady, Membership: overview.Membership{Leaving: true}}
	require.Equal(t, []overview.Tally{{"Ready", overview.Well, 2}, {"Unknown", overview.Away, 1}, {"Leaving", overview.Moving, 1}},
		overview.MemberTallies([]*overview.Member{leaving, {State: api.MemberReady}, {State: api.MemberUnknown}, {State: api.MemberReady}}))
}

// What its members say, and what its conditions say, is brought to the worst sign of a placement.
func TestHowAPlacementDoes(t *testing.T) {
	is := func(kind string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: api.KindClusterResourcePlacement + kind, Status: status, Message: "told"}
	}
	entries := func(states ...string) (out []api.PerMemberStatus) {
		for _, state := range states {
			out = append(out, api.PerMemberStatus{State: state})
		}
		return out
	}
	available := []metav1.Condition{is(api.ConditionAvailable, metav1.ConditionTrue)}
	for name, c := range map[string]struct {
		placement api.Placement
		status    api.PlacementStatus
		want      overview.Sign
		state     string
	}{
		"available":            {status: api.PlacementStatus{Conditions: available}, want: overview.Well, state: "Available"},
		"not looked at":        {want: overview.Waiting, state: "-"},
		"not scheduled":        {status: api.PlacementStatus{Conditions: []metav1.Condition{is(api.ConditionScheduled, metav1.ConditionFalse)}}, want: overview.Warn, state: "Scheduled=False"},
		"not known yet":        {status: api.PlacementStatus{Conditions: []metav1.Condition{is(api.ConditionScheduled, metav1.ConditionUnknown)}}, want: overview.Moving, state: "Scheduled=Unknown"},
		"stands still":         {status: api.PlacementStatus{Conditions: []metav1.Condition{is(api.ConditionRolloutProgressing, metav1.ConditionFalse)}}, want: overview.Bad, state: "RolloutProgressing=False"},
		"progress not known":   {status: api.PlacementStatus{Conditions: []metav1.Condition{is(api.ConditionRolloutProgressing, metav1.ConditionUnknown)}}, want: overview.Moving, state: "RolloutProgressing=Unknown"},
		"failed":               {status: api.PlacementStatus{Conditions: available, Counts: api.PlacementCounts{Failed: 1}}, want: overview.Bad, state: "Available"},
		"drifted":              {status: api.PlacementStatus{Conditions: available, Counts: api.PlacementCounts{Drifted: 1}}, want: overview.Warn, state: "Available"},
		"differs":              {status: api.PlacementStatus{Conditions: available, Counts: api.PlacementCounts{Differing: 1}}, want: overview.Warn, state: "Available"},
		"rolls out":            {status: api.PlacementStatus{Conditions: available, Rollout: &api.Rollout{}}, want: overview.Moving, state: "Available"},
		"rolled out":           {status: api.PlacementStatus{Conditions: available, Rollout: &api.Rollout{Complete: true}}, want: overview.Well, state: "Available"},
		"paused on the way":    {status: api.PlacementStatus{Conditions: available, Paused: &api.Pause{}, Rollout: &api.Rollout{}}, want: overview.Waiting, state: "Available"},
		"paused and done":      {status: api.PlacementStatus{Conditions: available, Paused: &api.Pause{}}, want: overview.Well, state: "Available"},
		"changed":              {placement: api.Placement{ObjectMeta: metav1.ObjectMeta{Generation: 2}}, status: api.PlacementStatus{Conditions: available, ObservedGeneration: 1}, want: overview.Moving, state: "Available"},
		"seen":                 {placement: api.Placement{ObjectMeta: metav1.ObjectMeta{Generation: 2}}, status: api.PlacementStatus{Conditions: available, ObservedGeneration: 2}, want: overview.Well, state: "Available"},
		"deleted":              {placement: api.Placement{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{}}}, status: api.PlacementStatus{Conditions: available}, want: overview.Moving, state: "Available"},
		"withdrawal held":      {status: api.PlacementStatus{Conditions: []metav1.Condition{{Type: "x", Status: metav1.ConditionFalse, Reason: api.ReasonWithdrawalHeld}}}, want: overview.Waiting, state: "x=False"},
		"all silent":           {status: api.PlacementStatus{Conditions: available, Counts: api.PlacementCounts{Picked: 2}, PlacementStatuses: entries("", "")}, want: overview.Away, state: "Available"},
		"some silent":          {status: api.PlacementStatus{Conditions: available, Counts: api.PlacementCounts{Picked: 2}, PlacementStatuses: entries("", api.EntryAvailable)}, want: overview.Warn, state: "Available"},
		"one applies":          {status: api.PlacementStatus{Conditions: available, Counts: api.PlacementCounts{Picked: 2}, PlacementStatuses: entries(api.EntryApplying, api.EntryAvailable)}, want: overview.Moving, state: "Available"},
		"nobody picked":        {status: api.PlacementStatus{Conditions: available}, want: overview.Well, state: "Available"},
		"first that is untrue": {status: api.PlacementStatus{Conditions: []metav1.Condition{is("Applied", metav1.ConditionFalse), is("Overridden", metav1.ConditionUnknown), available[0]}}, want: overview.Moving, state: "Applied=False"},
	} {
		c.placement.Kind = api.KindClusterResourcePlacement
		row := overview.PlacementOf(&c.placement, &c.status)
		require.Equal(t, c.want, row.Sign, name)
		require.Equal(t, c.state, row.State, name)
		require.Equal(t, row.State != "Available" && row.State != "-" && name != "withdrawal held", row.Message == "told", name)
	}
}
