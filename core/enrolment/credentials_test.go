package enrolment_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/enrolment"
)

// Each standing says what a person may do, and is a condition of the member since it became so.
func TestHowCredentialsStand(t *testing.T) {
	record := enrolled(t)
	waits := tokens("T")
	revoked, _ := enrolment.Revoke(record, "anna", noon.Add(time.Hour))
	left := follow(t, follow(t, record, enrolment.Deleted, 0).Record, enrolment.Deleted, time.Hour).Record
	empty := enrolment.Recall(waits, false, noon)
	foreign := record
	foreign.Ends = metav1.Time{}
	const token = "for another: flotilla member enrol berlin > berlin.token"
	for name, c := range map[string]struct {
		record         *api.Identity
		after          time.Duration
		state, message string
		status         metav1.ConditionStatus
		since          metav1.Time
	}{
		"they hold": {
			&record, life/4*3 - time.Second, api.CredentialsValid, "until 2026-12-22T12:00:00Z; its agent asks for others from 2026-12-07T12:00:00Z on", metav1.ConditionTrue, at(0),
		},
		"the agent is late": {
			&record, life / 4 * 3, api.CredentialsOverdue, "they end at 2026-12-22T12:00:00Z, and its agent, which asks for others from 2026-12-07T12:00:00Z on, did not get any; its log says why", metav1.ConditionTrue, at(0),
		},
		"they ended": {
			&record, life, api.CredentialsEnded, "they ended at 2026-12-22T12:00:00Z; its agent gets others for its key when it is back", metav1.ConditionFalse, at(life),
		},
		"revoked":          {&revoked, life, api.CredentialsRevoked, "its agent was revoked at 2026-11-22T13:00:00Z by anna; " + token, metav1.ConditionFalse, at(time.Hour)},
		"left":             {&left, life, api.CredentialsRevoked, "its agent was revoked at 2026-11-22T13:00:00Z because its member left the fleet; " + token, metav1.ConditionFalse, at(time.Hour)},
		"a token waits":    {&waits, 0, api.CredentialsNotEnrolled, "its agent has not come with a token; for one: flotilla member enrol berlin > berlin.token", metav1.ConditionFalse, at(0)},
		"no token is left": {&empty, 0, api.CredentialsNotEnrolled, "its agent has not come with a token; for one: flotilla member enrol berlin > berlin.token", metav1.ConditionFalse, metav1.Time{}},
		"others gave them": {&foreign, 10 * life, api.CredentialsValid, "who made them knows when they end", metav1.ConditionTrue, at(0)},
	} {
		t.Run(name, func(t *testing.T) {
			got := enrolment.Credentials(c.record, noon.Add(c.after))
			require.Equal(t, c.state, got.State)
			require.Equal(t, c.message, got.Message)
			require.Equal(t, c.record.Key, got.Key)
			require.Equal(t, metav1.Condition{
				Type: api.ConditionCredentialsValid, Status: c.status, Reason: c.state, Message: c.message, LastTransitionTime: c.since,
			}, enrolment.Condition(c.record, &got))
		})
	}
}

// An agent that is late is told of once, and again only after it had other credentials.
func TestWhoIsLateIsToldOfOnce(t *testing.T) {
	record := enrolled(t)
	late := life / 4 * 3
	require.Equal(t, enrolment.Followed{Recheck: noon.Add(late)}, follow(t, record, enrolment.Present, late-1))
	told := follow(t, record, enrolment.Present, late)
	require.Equal(t, []api.Audit{{
		Type: "Warning", Reason: api.CredentialsOverdue,
		Message: "the credentials of its agent: they end at 2026-12-22T12:00:00Z, and its agent, which asks for others from 2026-12-07T12:00:00Z on, did not get any; its log says why",
	}}, told.Events)
	require.Equal(t, enrolment.Followed{}, follow(t, told.Record, enrolment.Present, 2*life))
	require.Contains(t, follow(t, record, enrolment.Present, life).Events[0].Message, "they ended at", "by a hub that was away")

	again := enrolment.Judge(ask(&told.Record, "", "K", late))
	require.Nil(t, again.Refused)
	require.Equal(t, noon.Add(late+life/4*3), follow(t, again.Record, enrolment.Present, late).Recheck)
	require.Equal(t, enrolment.Followed{}, follow(t, record, enrolment.Missing, late), "members alone")
}

// Where others give credentials, the hub sets them no end.
func TestCredentialsOfOthersHaveNoEnd(t *testing.T) {
	record := tokens("T")
	in := ask(&record, "T", "K", 0)
	in.Life = 0
	v := enrolment.Judge(in)
	require.True(t, v.Ends.IsZero())
	require.True(t, v.Record.Ends.IsZero())
	require.Equal(t, "its agent registered key K", v.Events[0].Message)
	in = ask(&v.Record, "", "K", 10*life)
	in.Life = 0
	require.False(t, enrolment.Judge(in).Write, "and they are fresh for ever")
}
