package health

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/liveness"
)

var noon = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) metav1.Time { return metav1.NewTime(noon.Add(-d)) }

// told are problems in short: object, reason, message and what to type next.
func told(problems []api.Problem) []string {
	lines := []string{}
	for _, p := range problems {
		lines = append(lines, p.Object+" "+p.Reason+": "+p.Message+" -> "+p.Next)
	}
	return lines
}

// What stops work comes first, what only waits last; equals stay by object. Of too many the last line says how many more.
func TestListedPutsTheSevereFirst(t *testing.T) {
	reasons := []string{ReasonDeleting, ReasonNothing, "DriftFound", ReasonFailed, ReasonNoRoom}
	var all []api.Problem
	for i := range 11 {
		for _, reason := range reasons {
			all = append(all, api.Problem{Object: fmt.Sprintf("o/%02d", 10-i), Reason: reason})
		}
	}
	listed := Listed(all)
	require.Len(t, listed, mostListed+1)
	require.Equal(t, "fleet MoreProblems: 5 more problems -> flotilla get crp", told(listed)[mostListed])
	for i, p := range listed[:mostListed] {
		require.Equal(t, reasons[len(reasons)-1-i/11], p.Reason, i)
		require.Equal(t, fmt.Sprintf("o/%02d", i%11), p.Object)
	}
}

func TestMember(t *testing.T) {
	identity := &api.Identity{SealingKey: "key"}
	describe := " -> flotilla describe member berlin"
	for _, c := range []struct {
		what     string
		record   api.MemberRecord
		identity *api.Identity
		want     []string
	}{
		{"is well", api.MemberRecord{UID: "u", State: api.MemberReady, AgentLevel: api.Level}, identity, nil},
		{"was made before levels were told", api.MemberRecord{UID: "u", State: api.MemberReady, AgentLevel: 0}, identity, nil},
		{"is unknown", api.MemberRecord{UID: "u", State: api.MemberUnknown, Message: "silent"}, identity, []string{"Unknown: silent" + describe}},
		{
			"is not admitted",
			api.MemberRecord{State: api.MemberJoining},
			nil,
			[]string{"Joining: its agent runs, but it is no member: nobody admitted it, or it left and its agent is to be stopped -> flotilla member admit berlin"},
		},
		{
			"was revoked",
			api.MemberRecord{UID: "u", State: api.MemberReady, Reason: liveness.ReasonRevoked, Message: "refused"},
			identity,
			[]string{"Ready: refused -> flotilla member enrol berlin > berlin.token"},
		},
		{"has an identity nobody can read", api.MemberRecord{UID: "u", State: api.MemberReady}, nil, nil},
		{"has no key", api.MemberRecord{UID: "u", State: api.MemberReady}, &api.Identity{}, []string{"NoKey: " + api.KeylessMessage + " -> flotilla member enrol berlin > berlin.token"}},
		{"has no key any more", api.MemberRecord{UID: "u", State: api.MemberReady}, &api.Identity{Revoked: &metav1.Time{}}, nil},
		{
			"runs what nobody knows",
			api.MemberRecord{UID: "u", State: api.MemberReady, Forbidden: []string{"list secrets"}, Unlisted: []string{"a", "b"}},
			identity,
			[]string{
				"PermissionMissing: " + liveness.ForbiddenText([]string{"list secrets"}) + describe,
				"Unlisted: it runs placements the hub does not know: a, b" + describe,
			},
		},
	} {
		t.Run(c.what, func(t *testing.T) {
			c.record.Name = "berlin"
			for i := range c.want {
				c.want[i] = "member/berlin " + c.want[i]
			}
			require.ElementsMatch(t, c.want, told(Member(&c.record, c.identity)))
		})
	}
	require.Equal(t, []string{"member/oslo Joining: admitted, but its agent never reported -> flotilla member enrol oslo > oslo.token"}, told([]api.Problem{Silent("oslo", before(0))}))
}

func TestCredentials(t *testing.T) {
	record := &api.MemberRecord{Name: "berlin", UID: "u"}
	for state, want := range map[string]string{
		api.CredentialsValid: "", api.CredentialsOverdue: "the credentials of its agent: m; it says: disk full", api.CredentialsEnded: "the credentials of its agent: m",
	} {
		found := Credentials(record, &api.Identity{}, &api.AgentCredentials{State: state, Message: "m", Renewal: "disk full", Ends: before(time.Hour)})
		if want == "" {
			require.Empty(t, found, state)
			continue
		}
		require.Equal(t, []string{"member/berlin " + state + ": " + want + " -> flotilla describe member berlin"}, told(found))
		require.Equal(t, state == api.CredentialsEnded, found[0].Since.Equal(new(before(time.Hour))))
	}
	require.Empty(t, Credentials(&api.MemberRecord{Name: "berlin"}, &api.Identity{}, &api.AgentCredentials{State: api.CredentialsEnded}), "it is no member")
}

func TestShare(t *testing.T) {
	require.Equal(t, []string{"member/berlin ShareExceeded: too much -> flotilla describe member berlin"}, told(Share("berlin", "too much", noon.Add(-exceededFor+1), noon)))
	require.Empty(t, Share("berlin", "too much", noon.Add(-exceededFor), noon))
}

func TestHeldBack(t *testing.T) {
	problem := HeldBack("berlin", "too often", noon)
	require.Equal(t, []string{"member/berlin HeldBack: too often -> flotilla describe member berlin"}, told([]api.Problem{problem}))
	require.Equal(t, noon, problem.Since.Time)
}

func TestUnconfirmed(t *testing.T) {
	release := &api.Release{Placement: "shop/web", Entries: []api.ReleaseEntry{
		{Member: "rome", Withdrawn: true, Since: before(time.Hour)},
		{Member: "oslo", Since: before(3 * time.Hour)},
		{Member: "berlin", Withdrawn: true, Since: before(2 * time.Hour)},
		{Member: "kyiv", Withdrawn: true, Since: before(patience - 1)},
		{Member: "lima", Withdrawn: true, Since: before(patience)},
	}}
	said := func(members []string) []string { return append(members, "said") }
	found := Unconfirmed(release, false, said, noon)
	require.Equal(t, []string{"placement/shop/web Unconfirmed: withdrawn, and not confirmed yet by berlin, lima, rome, said -> flotilla get members"}, told(found))
	require.Equal(t, before(2*time.Hour), found[0].Since)
	require.True(t, strings.HasPrefix(Unconfirmed(release, true, said, noon)[0].Message, "deleted, withdrawn"))
	require.Empty(t, Unconfirmed(release, false, said, noon.Add(-3*time.Hour)))
}

func TestDeletingAndUnreadable(t *testing.T) {
	since := before(time.Minute)
	require.Equal(t, []string{
		"nodepool/a Deleting: waits for b -> next",
		"placement/a Unreadable: no; nothing is decided that depends on it -> flotilla events placement/a",
		"object/a Unreadable: no; nothing is decided that depends on it -> flotilla events",
	}, told([]api.Problem{
		Deleting("nodepool/a", "next", &since, []string{"b"}),
		Unreadable("placement/a", "placement/a", errors.New("no")), Unreadable("object/a", "", errors.New("no")),
	}))
}
