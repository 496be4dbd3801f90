package door_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/hub/door"
	"flotilla/subjects"
)

// A member is admitted only while the streams have room for its whole share, whoever admits it; those that are
// members stay, and may be changed.
func TestMembersBeyondTheStreamsAreNotAdmitted(t *testing.T) {
	h := open(t, door.Options{})
	capacity := h.store.Capacity()
	require.Equal(t, 1927, capacity.Members, capacity.String())
	h.store.Layout.Sizes[subjects.Events] = 4 * h.store.Share.Events
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
