package deed_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/deed"
	"flotilla/core/overview"
	"flotilla/core/plan"
)

func TestTheEffectOfAnOperationIsWhatChangesWithIt(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	at := func(after time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(after)} }
	member := func(name string, start *metav1.Time, state api.UpdateState, reason string) plan.RunMember {
		return plan.RunMember{Name: name, Start: start, State: state, Reason: reason}
	}
	without := plan.Run{Members: []plan.RunMember{
		member("runs", at(-time.Hour), api.StateCompleted, ""),
		member("shifts", at(time.Hour), api.StateCompleted, ""),
		member("a", nil, api.StateNotStarted, api.ReasonWaitsForGate),
		member("b", nil, api.StateNotStarted, api.ReasonWaitsForGate),
		member("c", nil, api.StateNotStarted, api.ReasonWaitsForGate),
		member("d", nil, api.StateNotStarted, api.ReasonWaitsForGate),
		member("behind", nil, api.StateNotStarted, api.ReasonNotReached),
	}}
	with := plan.Run{Members: []plan.RunMember{
		member("runs", at(-time.Hour), api.StateCompleted, ""),
		member("a", at(0), api.StateCompleted, ""),
		member("shifts", at(2*time.Hour), api.StateCompleted, ""),
		member("c", at(3*time.Hour), api.StateCompleted, ""),
		member("b", at(5*time.Hour), api.StateCompleted, ""),
		member("d", nil, api.StatePending, api.ReasonMemberUnreachable),
		member("new", nil, api.StatePending, api.ReasonMemberUnreachable),
		member("behind", nil, api.StateNotStarted, api.ReasonNotReached),
	}}
	messages := []string{"", "", "", "", "", "silent for 6m", "silent for 7m", ""}
	require.Equal(t, deed.Effect{Members: 5, Turns: []deed.Turn{
		{What: "begin at once", Sign: overview.Moving, Count: 1, Names: []string{"a"}, From: *at(0), To: *at(0)},
		{What: "begin later", Sign: overview.Waiting, Count: 2, Names: []string{"c", "b"}, From: *at(3 * time.Hour), To: *at(5 * time.Hour)},
		{What: "cannot begin yet", Sign: overview.Waiting, Reason: api.ReasonMemberUnreachable, Message: "silent for 6m", Count: 2, Names: []string{"d", "new"}},
	}}, deed.EffectOf(&without, &with, messages, now))

	require.Equal(t, deed.Effect{}, deed.EffectOf(&with, &with, messages, now))
}

func TestAnEffectNamesTheFirstAndCountsAll(t *testing.T) {
	var without, with plan.Run
	for i := range 30 {
		name := string(rune('A' + i))
		without.Members = append(without.Members, plan.RunMember{Name: name, Start: &metav1.Time{}, State: api.StateCompleted})
		with.Members = append(with.Members, plan.RunMember{Name: name, State: api.StateStopped, Reason: api.ReasonRunStopped})
	}
	effect := deed.EffectOf(&without, &with, make([]string, 30), time.Time{})
	require.Equal(t, 30, effect.Members)
	require.Len(t, effect.Turns, 1)
	require.Equal(t, 30, effect.Turns[0].Count)
	require.Len(t, effect.Turns[0].Names, 20)
	require.Equal(t, "do not begin", effect.Turns[0].What)
}
