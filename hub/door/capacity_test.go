package door_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/hub/door"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// A member is admitted only while the streams have room for its whole share, whoever admits it; those that are
// members stay, and may be changed.
func TestMembersBeyondTheStreamsAreNotAdmitted(t *testing.T) {
	h := open(t, door.Options{})
	capacity := h.store.Capacity()
	require.Equal(t, 1927, capacity.Members, capacity.String())
	h.store.Layout.Sizes[subjects.Events] = 4 * h.store.Share().Events
	capacity = h.store.Capacity()
	require.Equal(t, 3, capacity.Members)
	for _, name := range []string{"a", "b", "c"} {
		must[api.ApplyResult](h, api.VerbAdmit, api.AdmitRequest{Request: h.id(), Name: name})
	}
	_, failure := ask[api.ApplyResult](h, api.VerbAdmit, api.AdmitRequest{Request: h.id(), Name: "late"})
	require.NotNil(t, failure)
	require.Equal(t, api.CodeRefused, failure.Code)
	require.Equal(t, "nothing was applied: member late is not admitted: there are 3, and stream FLOTILLA_test_EVENTS of 16 MiB holds the shares of 3 members, "+
		"4.2 MiB each: raise streams.events of the hub and `nats stream edit FLOTILLA_test_EVENTS --max-bytes`, or lower memberShare", failure.Message)
	failure = h.refuse("{apiVersion: cluster.kubernetes-fleet.io/v1, kind: MemberCluster, metadata: {name: later}}")
	require.Contains(t, failure.Message, "member later is not admitted")
	must[api.ApplyResult](h, api.VerbAdmit, api.AdmitRequest{Request: h.id(), Name: "a", Labels: map[string]string{"x": "y"}})
	h.missing(api.KindMemberCluster, "", "late")
}

// The status names who stores more than its share, for a while after it last did.
func TestAMemberBeyondItsShareIsAProblem(t *testing.T) {
	now := elsewhen.Now()
	h := open(t, door.Options{OfNodes: door.OfNodes{Uses: func() map[string]watch.EventUse {
		return map[string]watch.EventUse{
			"berlin": {Refused: 7, RefusedBytes: 7 << 20, Last: now}, "oslo": {Messages: 3}, "rome": {Refused: 1, Last: now.Add(-time.Hour)},
		}
	}}})
	found := h.problems()
	require.Contains(t, found["member/berlin ShareExceeded"].Message, "7 messages of 7.0 MiB were purged")
	require.NotContains(t, found, "member/oslo ShareExceeded")
	require.NotContains(t, found, "member/rome ShareExceeded")
}
