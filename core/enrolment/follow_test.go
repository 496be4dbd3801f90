package enrolment_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/enrolment"
)

const farewell = time.Minute

// follow decides, writes, and requires that deciding again changes nothing.
func follow(t *testing.T, record api.Identity, standing enrolment.Standing, after time.Duration) enrolment.Followed {
	t.Helper()
	out := enrolment.Follow(record, standing, farewell, noon.Add(after))
	if out.Write {
		require.False(t, enrolment.Follow(out.Record, standing, farewell, noon.Add(after)).Write, "it is decided once")
	}
	return out
}

// Who left has a minute to say goodbye, then its key is refused, and tokens that were made while it was there.
func TestWhoLeavesIsRevoked(t *testing.T) {
	record := enrolled(t)
	record = enrolment.Issue(record, "berlin", api.IssuedToken{Key: "OPEN", Made: at(0), Ends: at(time.Hour)})
	require.False(t, follow(t, record, enrolment.Present, time.Hour).Write)

	left := follow(t, record, enrolment.Deleted, time.Hour)
	require.True(t, left.Write)
	require.Equal(t, "K", left.Record.Key, "it works on")
	require.Equal(t, enrolment.Followed{Recheck: noon.Add(time.Hour + farewell)}, follow(t, left.Record, enrolment.Deleted, time.Hour+farewell-1))

	issued := enrolment.Issue(left.Record, "berlin", api.IssuedToken{Key: "NEW", Made: at(time.Hour), Ends: at(2 * time.Hour)})
	over := follow(t, issued, enrolment.Deleted, time.Hour+farewell)
	when := at(time.Hour + farewell)
	require.Equal(t, []string{"K"}, over.Record.Former)
	require.Equal(t, &when, over.Record.Revoked)
	require.Equal(t, "leaving", over.Record.RevokedBy)
	require.Equal(t, []string{"T", "NEW"}, keysOf(over.Record.Tokens))
	require.Equal(t, []api.Audit{{
		Type: "Normal", Reason: "Revoked",
		Message: "its member left the fleet: its agent is refused, and tokens that were not used; for a new one: flotilla member enrol berlin > berlin.token",
	}}, over.Events)
	require.Equal(t, enrolment.Followed{}, follow(t, over.Record, enrolment.Deleted, 2*time.Hour))
}

func keysOf(tokens []api.IssuedToken) (keys []string) {
	for _, token := range tokens {
		keys = append(keys, token.Key)
	}
	return keys
}

// Who comes back in time is not revoked, by what it was before.
func TestWhoComesBackStays(t *testing.T) {
	left := follow(t, enrolled(t), enrolment.Deleted, time.Hour).Record
	back := follow(t, left, enrolment.Present, time.Hour+1)
	require.True(t, back.Write)
	require.Equal(t, enrolled(t), back.Record)

	other := enrolment.Issue(left, "berlin", api.IssuedToken{Key: "T2", Made: at(time.Hour), Ends: at(2 * time.Hour)})
	in := ask(&other, "T2", "K2", time.Hour+1)
	in.Admitted = false
	v := enrolment.Judge(in)
	require.Nil(t, v.Refused)
	require.Equal(t, enrolment.Followed{}, follow(t, v.Record, enrolment.Deleted, 2*time.Hour), "the agent that took its place waits to be admitted")
}

// Who was never part of the fleet does not leave it, and where there is nobody to revoke nothing is told.
func TestWhoWasNotThereDoesNotLeave(t *testing.T) {
	record := tokens("T")
	in := ask(&record, "T", "K", 0)
	in.Admitted = false
	require.Equal(t, enrolment.Followed{}, follow(t, enrolment.Judge(in).Record, enrolment.Deleted, time.Hour))

	revoked, _ := enrolment.Revoke(enrolled(t), "anna", noon)
	left := follow(t, revoked, enrolment.Deleted, time.Hour)
	over := follow(t, left.Record, enrolment.Deleted, 2*time.Hour)
	require.Empty(t, over.Events)
	require.Equal(t, "anna", over.Record.RevokedBy)
	require.Nil(t, over.Record.Left)
}

// Who is lost has not left: its agent works on, unless it had left before.
func TestWhoIsLostIsNotRevoked(t *testing.T) {
	require.Equal(t, enrolment.Followed{}, follow(t, enrolled(t), enrolment.Missing, time.Hour))
	left := follow(t, enrolled(t), enrolment.Deleted, time.Hour).Record
	require.NotNil(t, follow(t, left, enrolment.Missing, 2*time.Hour).Record.Revoked)
}
