package door_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/hub/door"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// Credentials are shown with their member. That they are not renewed is a problem, with why, as the agent says it;
// who was revoked needs a token.
func TestCredentialsOfAgentsAreShown(t *testing.T) {
	h := open(t, door.Options{})
	uid := h.apply("{apiVersion: cluster.kubernetes-fleet.io/v1, kind: MemberCluster, metadata: {name: berlin}}")[0].UID
	record := api.MemberRecord{Header: api.NewHeader(api.KindMemberRecord), Name: "berlin", UID: uid, State: api.MemberReady, Renewal: "no hub answers what it asks"}
	write(h, subjects.Members, "berlin", record)
	shown := func() *api.MemberClusterStatus {
		return must[api.MemberCluster](h, api.VerbGet, api.GetRequest{Kind: api.KindMemberCluster, Name: "berlin"}).Status
	}
	require.Nil(t, shown().Credentials, "nobody knows of any")

	hours := func(n int) metav1.Time {
		return metav1.NewTime(elsewhen.Now().UTC().Truncate(time.Second).Add(time.Duration(n) * time.Hour))
	}
	identity := api.Identity{
		Header: api.NewHeader(api.KindIdentity), Name: "berlin", Key: "K", SealingKey: "X", Enrolled: hours(-1), Issued: hours(-1), Ends: hours(3), Admitted: true,
	}
	write(h, subjects.Identities, "berlin", identity)
	status := shown()
	require.Equal(t, api.CredentialsValid, status.Credentials.State)
	require.Equal(t, hours(3).Time, status.Credentials.Ends.UTC())
	condition := status.Conditions[len(status.Conditions)-1]
	require.Equal(t, api.ConditionCredentialsValid, condition.Type)
	require.Equal(t, metav1.ConditionTrue, condition.Status)
	require.Empty(t, h.problems())

	identity.Ends = hours(0)
	identity.Ends.Time = identity.Ends.Add(10 * time.Minute)
	write(h, subjects.Identities, "berlin", identity)
	late := h.problems()["member/berlin RenewalOverdue"]
	require.True(t, strings.HasSuffix(late.Message, "did not get any; its log says why; it says: no hub answers what it asks"), late.Message)
	require.Equal(t, "no hub answers what it asks", shown().Credentials.Renewal)

	identity.Ends = hours(0)
	write(h, subjects.Identities, "berlin", identity)
	require.Equal(t, "flotilla describe member berlin", h.problems()["member/berlin CredentialsEnded"].Next)

	record.State, record.Reason, record.Message = api.MemberUnknown, api.CredentialsRevoked, "its agent was revoked"
	write(h, subjects.Members, "berlin", record)
	at := hours(0)
	write(h, subjects.Identities, "berlin", api.Identity{Header: identity.Header, Name: "berlin", Revoked: &at, RevokedBy: "anna", Admitted: true})
	problems := h.problems()
	require.Len(t, problems, 1)
	require.Equal(t, "flotilla member enrol berlin > berlin.token", problems["member/berlin Unknown"].Next)
	require.Equal(t, "anna", shown().Credentials.RevokedBy)
}
