package enrolment_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/enrolment"
)

const life = 30 * 24 * time.Hour

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func at(after time.Duration) metav1.Time { return metav1.NewTime(noon.Add(after)) }

// tokens is a record of a member for which a token was made at noon, for an hour.
func tokens(keys ...string) api.Identity {
	var record api.Identity
	for _, key := range keys {
		record = enrolment.Issue(record, "berlin", api.IssuedToken{Key: key, Made: at(0), Ends: at(time.Hour), By: "anna"})
	}
	return record
}

// ask is a statement of key K with a token, none when that is empty, so long after noon.
func ask(record *api.Identity, token, key string, after time.Duration) enrolment.Input {
	return enrolment.Input{
		Member: "berlin", Record: record, Admitted: true, Life: life, Now: noon.Add(after),
		Ask: &api.EnrolmentRequest{Key: key, SealingKey: "X" + key, Token: token, Serial: 10 + int64(after)},
	}
}

// enrolled is a record of a member whose agent traded token T at noon.
func enrolled(t *testing.T) api.Identity {
	t.Helper()
	record := tokens("T")
	v := enrolment.Judge(ask(&record, "T", "K", 0))
	require.Nil(t, v.Refused)
	return v.Record
}

func TestATokenRegistersOneKeyOnce(t *testing.T) {
	record := tokens("T")
	v := enrolment.Judge(ask(&record, "T", "K", time.Minute))
	used := at(time.Minute)
	require.Equal(t, enrolment.Verdict{
		Role: api.AgentAdmitted, Ends: noon.Add(time.Minute + life), Write: true,
		Record: api.Identity{
			Header: api.NewHeader(api.KindIdentity), Name: "berlin", Key: "K", SealingKey: "XK", Enrolled: used, Role: api.AgentAdmitted,
			Issued: used, Ends: at(time.Minute + life), Serial: 10 + int64(time.Minute), Admitted: true,
			Tokens: []api.IssuedToken{{Key: "T", Made: at(0), Ends: at(time.Hour), By: "anna", Used: &used, UsedBy: "K"}},
		},
		Events: []api.Audit{{Type: "Normal", Reason: "Enrolled", Message: "its agent registered key K, until 2026-12-22T12:01:00Z"}},
	}, v)
	require.Nil(t, record.Tokens[0].Used, "what was given is not changed")

	second := enrolment.Judge(ask(&v.Record, "T", "OTHER", 2*time.Minute))
	require.Equal(t, enrolment.ReasonTokenUsed, second.Refused.Reason)
	require.Contains(t, second.Refused.Message, "used at 2026-11-22T12:01:00Z by key K")
	require.False(t, second.Write)
	require.Equal(t, "TokenReused", second.Events[0].Reason)
	require.Equal(t, "Warning", second.Events[0].Type)
}

// An answer that was lost is given again, as it was, also when the token has ended meanwhile.
func TestTheSameKeyTradesItsTokenAgain(t *testing.T) {
	record := enrolled(t)
	for _, after := range []time.Duration{time.Second, 2 * time.Hour} {
		again := enrolment.Judge(ask(&record, "T", "K", after))
		require.Equal(t, enrolment.Verdict{Role: api.AgentAdmitted, Ends: noon.Add(life)}, again)
	}
	other := ask(&record, "T", "K", time.Second)
	other.Ask.SealingKey = "Xother"
	require.Equal(t, enrolment.ReasonOtherKey, enrolment.Judge(other).Refused.Reason)
}

func TestWhoGetsNothing(t *testing.T) {
	first := enrolled(t)
	replaced := enrolment.Issue(first, "berlin", api.IssuedToken{Key: "T2", Made: at(0), Ends: at(time.Hour)})
	v := enrolment.Judge(ask(&replaced, "T2", "K2", time.Minute))
	require.Contains(t, v.Events[0].Message, "takes the place of K of 2026-11-22T12:00:00Z")
	second := v.Record
	require.Equal(t, []string{"K"}, second.Former)
	open := tokens("T")
	for name, c := range map[string]struct {
		in     enrolment.Input
		reason string
	}{
		"nobody":                        {ask(nil, "", "K", 0), enrolment.ReasonNotEnrolled},
		"nobody, with a token":          {ask(nil, "T", "K", 0), enrolment.ReasonUnknownToken},
		"another token":                 {ask(&open, "U", "K", 0), enrolment.ReasonUnknownToken},
		"a token at its end":            {ask(&open, "T", "K", time.Hour), enrolment.ReasonTokenEnded},
		"an open token, not named":      {ask(&open, "", "K", 0), enrolment.ReasonNotEnrolled},
		"another key":                   {ask(&first, "", "OTHER", time.Minute), enrolment.ReasonOtherKey},
		"a former key":                  {ask(&second, "", "K", time.Hour), enrolment.ReasonRefusedKey},
		"a former key, with its token":  {ask(&second, "T", "K", time.Hour), enrolment.ReasonRefusedKey},
		"a statement of the past":       {ask(&first, "", "K", 0), enrolment.ReasonReplayed},
		"a statement before the newest": {ask(&first, "", "K", -time.Minute), enrolment.ReasonReplayed},
	} {
		v := enrolment.Judge(c.in)
		require.NotNil(t, v.Refused, name)
		require.Equal(t, c.reason, v.Refused.Reason, name)
		require.NotEmpty(t, v.Refused.Message, name)
		require.False(t, v.Write || v.Wait || v.Role != "", name)
	}
	heard := ask(&first, "", "K", time.Minute)
	heard.Heard = heard.Ask.Serial
	require.Equal(t, &api.EnrolmentRefusal{
		Reason: enrolment.ReasonReplayed, Later: true, Serial: heard.Ask.Serial,
		Message: "a statement of this key that is as new was heard before; its clock may have been put back",
	}, enrolment.Judge(heard).Refused)
}

// Credentials are renewed from half of their time on, and before that given as they are; who was away for years
// comes back with its key alone.
func TestRenewal(t *testing.T) {
	record := enrolled(t)
	for _, c := range []struct {
		after   time.Duration
		renewed bool
	}{{time.Second, false}, {life/2 - time.Second, false}, {life / 2, true}, {10 * 365 * 24 * time.Hour, true}} {
		v := enrolment.Judge(ask(&record, "", "K", c.after))
		require.Nil(t, v.Refused)
		require.Equal(t, c.renewed, v.Write, c.after)
		want := noon.Add(life)
		if c.renewed {
			want = noon.Add(c.after + life)
			require.Equal(t, "CredentialsRenewed", v.Events[0].Reason)
			require.Equal(t, want, v.Record.Ends.Time)
		}
		require.Equal(t, want, v.Ends, c.after)
	}
}

// An agent whose member nobody admitted is heard, waits, and is answered when the member is.
func TestJoining(t *testing.T) {
	record := tokens("T")
	in := ask(&record, "T", "K", 0)
	in.Admitted = false
	v := enrolment.Judge(in)
	require.Equal(t, api.AgentJoining, v.Role)
	record = v.Record

	waits := ask(&record, "", "K", time.Minute)
	waits.Admitted, waits.Ask.Holds = false, api.AgentJoining
	require.Equal(t, enrolment.Verdict{Wait: true}, enrolment.Judge(waits))
	waits.Admitted = true
	v = enrolment.Judge(waits)
	require.True(t, v.Write)
	require.Equal(t, api.AgentAdmitted, v.Role)

	lost := ask(&record, "", "K", time.Minute)
	lost.Admitted = false
	require.Equal(t, enrolment.Verdict{Role: api.AgentJoining, Ends: noon.Add(life)}, enrolment.Judge(lost), "who has none waits for nothing")
	late := ask(&record, "", "K", life)
	late.Admitted, late.Ask.Holds = false, api.AgentJoining
	require.Equal(t, api.AgentJoining, enrolment.Judge(late).Role)
}

// Deciding again changes nothing.
func TestJudgingAgainChangesNothing(t *testing.T) {
	record := enrolled(t)
	for after := time.Duration(1); after < 3*life; after += life / 7 {
		v := enrolment.Judge(ask(&record, "", "K", after))
		require.Nil(t, v.Refused)
		if v.Write {
			record = v.Record
		}
		again := enrolment.Judge(ask(&record, "", "K", after+1))
		require.False(t, again.Write)
		require.Equal(t, v.Ends, again.Ends)
	}
}

// However often tokens are made and keys replaced, a record is bounded, and the newest of them count.
func TestRecordsAreBounded(t *testing.T) {
	var record api.Identity
	for i := range 50 {
		name := string(rune('A' + i))
		record = enrolment.Issue(record, "berlin", api.IssuedToken{Key: name, Made: at(0), Ends: at(time.Hour)})
		if i%2 == 0 {
			v := enrolment.Judge(ask(&record, name, "K"+name, time.Duration(i)))
			require.Nil(t, v.Refused)
			record = v.Record
		}
	}
	require.Len(t, record.Tokens, 8)
	require.Len(t, record.Former, 8)
	require.Equal(t, string(rune('A'+49)), record.Tokens[7].Key)
	require.Equal(t, "K"+string(rune('A'+46)), record.Former[7])
}

func TestTheLifeOfATokenIsBounded(t *testing.T) {
	for life, ok := range map[time.Duration]bool{
		0: false, -time.Hour: false, time.Minute - 1: false, time.Minute: true, 24 * time.Hour: true, 720 * time.Hour: true, 721 * time.Hour: false,
	} {
		require.Equal(t, ok, enrolment.CheckLife(life) == nil, life)
	}
}

// What is revoked gets nothing more: neither the key nor tokens that were not used; a token that is made later does.
func TestRevoke(t *testing.T) {
	record := enrolled(t)
	record = enrolment.Issue(record, "berlin", api.IssuedToken{Key: "OPEN", Made: at(0), Ends: at(time.Hour)})
	revoked, changed := enrolment.Revoke(record, "anna", noon.Add(time.Minute))
	require.True(t, changed)
	require.Equal(t, "K", record.Key, "what was given is not changed")
	when, used := at(time.Minute), at(0)
	require.Equal(t, api.Identity{
		Header: api.NewHeader(api.KindIdentity), Name: "berlin", Former: []string{"K"}, Revoked: &when, RevokedBy: "anna", Admitted: true,
		Tokens: []api.IssuedToken{{Key: "T", Made: at(0), Ends: at(time.Hour), By: "anna", Used: &used, UsedBy: "K"}},
	}, revoked)
	for _, in := range []enrolment.Input{
		ask(&revoked, "", "K", time.Hour), ask(&revoked, "T", "K", time.Hour), ask(&revoked, "OPEN", "K2", time.Minute), ask(&revoked, "T", "K2", time.Minute),
	} {
		require.NotNil(t, enrolment.Judge(in).Refused)
	}
	_, changed = enrolment.Revoke(revoked, "anna", noon)
	require.False(t, changed)
	anew := enrolment.Issue(revoked, "berlin", api.IssuedToken{Key: "NEW", Made: at(0), Ends: at(time.Hour)})
	v := enrolment.Judge(ask(&anew, "NEW", "K2", time.Minute))
	require.Nil(t, v.Refused)
	require.Nil(t, v.Record.Revoked)
	require.Equal(t, []string{"K"}, v.Record.Former)
}

// What comes back from a backup brings no token, and no key that servers refuse.
func TestRecall(t *testing.T) {
	record := enrolment.Issue(enrolled(t), "berlin", api.IssuedToken{Key: "OPEN", Made: at(0), Ends: at(time.Hour)})
	back := enrolment.Recall(record, false, noon)
	require.Equal(t, enrolled(t), back)
	require.Len(t, record.Tokens, 2, "what was given is not changed")
	gone := enrolment.Recall(record, true, noon)
	require.Equal(t, []string{"K"}, gone.Former)
	require.NotNil(t, gone.Revoked)
}
