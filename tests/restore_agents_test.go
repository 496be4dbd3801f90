package tests

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/subjects"
)

// credentials are those of the agent of a member.
func (s *slice) credentials(member string) api.AgentCredentials {
	s.t.Helper()
	var shown api.MemberCluster
	s.ask(api.VerbGet, api.GetRequest{Kind: api.KindMemberCluster, Name: member}, &shown)
	if shown.Status == nil || shown.Status.Credentials == nil {
		return api.AgentCredentials{}
	}
	return *shown.Status.Credentials
}

// stand waits until the credentials of a member's agent do.
func (s *slice) stand(member, state string) {
	s.t.Helper()
	bustest.Eventually(s.t, func() error {
		if found := s.credentials(member); found.State != state {
			return fmt.Errorf("they stand at %+v", found)
		}
		return nil
	})
}

// A restore gives no agent back what was taken from it since the backup: who was revoked stays revoked, also where
// the record of it is gone and the servers alone know.
func TestARevokedAgentSurvivesARestore(t *testing.T) {
	s := newSlice(t, "berlin", "oslo")
	s.stand("berlin", api.CredentialsValid)
	s.stand("oslo", api.CredentialsValid)
	head, pages := s.backup()
	s.ask(api.VerbMemberRevoke, api.MemberRevokeRequest{Name: "berlin"}, nil)
	stays := s.credentials("oslo")
	s.restore(head, pages, true)
	s.stand("berlin", api.CredentialsRevoked)
	require.Equal(t, "admin", s.credentials("berlin").RevokedBy)
	require.Equal(t, stays.Key, s.credentials("oslo").Key)

	s.damage(subjects.Identities.Key("berlin"), subjects.Identities.Key("oslo"))
	s.fleetStatus(damaged)
	s.restore(head, pages, false)
	s.stand("berlin", api.CredentialsRevoked)
	require.Contains(t, s.credentials("berlin").RevokedBy, "servers refuse its key")
	require.Equal(t, stays.Key, s.credentials("oslo").Key)
}
