package enroller_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/bus/store"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/core/enrolment"
	"flotilla/hub/enroller"
	"flotilla/subjects"
)

// A revoked agent is cut at once, what it stored is gone, and it comes back neither with its key nor with its token.
func TestARevokedAgentIsCutAndFreed(t *testing.T) {
	h := start(t)
	h.admit("berlin")
	dir, token := t.TempDir(), h.token("berlin")
	conn := h.enrolled(dir, "berlin", token)
	h.becomes(conn, api.AgentAdmitted)
	h.stores(conn)
	key := conn.Wallet().Key()
	require.Equal(t, &api.MemberRevokeResponse{}, h.revoke("berlin"))
	h.refused(conn)
	require.True(t, h.server.Revoked(subjects.AccountAgents, key))
	require.NoError(t, h.freed())
	require.Empty(t, h.record("berlin").SealingKey)
	conn.Close()

	again, err := h.agent(dir, "berlin", nil)
	require.NoError(t, err)
	h.refused(again)
	again.Close()
	require.Equal(t, &api.MemberRevokeResponse{Unchanged: true}, h.revoke("berlin"))
	thief, err := h.agent(t.TempDir(), "berlin", token)
	require.NoError(t, err)
	require.Equal(t, enrolment.ReasonTokenUsed, refusal(t, thief).Reason)
	h.becomes(h.enrolled(t.TempDir(), "berlin", h.token("berlin")), api.AgentAdmitted)
}

// Whoever looked at one agent does not refuse the one that came after it.
func TestTheAgentIsRevokedThatWasSeen(t *testing.T) {
	h := start(t)
	h.admit("berlin")
	none := ""
	first := h.enrolled(t.TempDir(), "berlin", h.token("berlin"))
	_, err := h.tryRevokeOf("berlin", &none)
	require.ErrorContains(t, err, "it holds key "+first.Wallet().Key()+" since ")
	require.ErrorContains(t, err, "; it was none")
	seen := first.Wallet().Key()
	second := h.enrolled(t.TempDir(), "berlin", h.token("berlin"))
	h.becomes(second, api.AgentAdmitted)
	_, err = h.tryRevokeOf("berlin", &seen)
	failure, refused := errors.AsType[*api.Failure](err)
	require.True(t, refused, "%v", err)
	require.Equal(t, api.CodePrecondition, failure.Code)
	require.Equal(t, second.Wallet().Key(), h.record("berlin").Key)

	newest := second.Wallet().Key()
	for range 2 { // whoever asks again is told that it is so
		_, err = h.tryRevokeOf("berlin", &newest)
		require.NoError(t, err)
	}
	require.Empty(t, h.record("berlin").Key)
}

// Where the hub cannot tell the servers it says what is left to be typed.
func TestWhatIsLeftToBeTypedAfterARevocation(t *testing.T) {
	h := start(t, func(o *enroller.Options) { o.Revoke = nil })
	conn := h.enrolled(t.TempDir(), "berlin", h.token("berlin"))
	left := h.revoke("berlin").Left
	require.NotNil(t, left)
	require.Equal(t, bus.RevokeCommand(subjects.AccountAgents, conn.Wallet().Key()), left.Next)
	require.Equal(t, enrolment.ReasonRefusedKey, refusal(t, conn).Reason, "and gives nothing more")
}

// revoke revokes the agent of a member through the verb, as anna.
func (h *house) revoke(member string) *api.MemberRevokeResponse {
	h.Helper()
	answer, err := h.tryRevoke(member)
	require.NoError(h, err)
	made, ok := answer.(*api.MemberRevokeResponse)
	require.True(h, ok)
	return made
}

func (h *house) tryRevoke(member string) (any, error) {
	return h.tryRevokeOf(member, nil)
}

func (h *house) tryRevokeOf(member string, key *string) (any, error) {
	body, err := json.Marshal(api.MemberRevokeRequest{Name: member, Key: key})
	require.NoError(h, err)
	return h.room.Verbs()[api.VerbMemberRevoke](h.Context(), api.Caller{Name: "anna", Role: api.RoleAdmin}, body)
}

// stores has an agent store what agents do, and waits until the hub sees all of it.
func (h *house) stores(conn *member.Conn) {
	h.Helper()
	require.NoError(h, conn.PutHeartbeat(h.Context(), api.Heartbeat{}))
	require.NoError(h, conn.PutInventory(h.Context(), api.MemberInventory{}))
	require.NoError(h, conn.PutResult(h.Context(), subjects.CommandPlacement, "web", api.PlacementResult{}))
	bustest.Eventually(h, func() error {
		if len(h.store.Heartbeats.Keys(""))*len(h.store.Inventories.Keys(""))*len(h.store.Results.Keys("")) == 0 {
			return errors.New("not all of it is seen yet")
		}
		return nil
	})
}

// freed says what of agents is still stored.
func (h *house) freed() error {
	for _, cache := range []*watch.Cache{h.store.Heartbeats, h.store.Inventories, h.store.Results} {
		if keys := cache.Keys(""); len(keys) > 0 {
			return fmt.Errorf("there are %s", keys)
		}
	}
	return nil
}

// refused waits until servers take the credentials of an agent no more.
func (h *house) refused(conn *member.Conn) {
	h.Helper()
	bustest.Eventually(h, func() error {
		if conn.Refused() == nil {
			return errors.New("it is not refused")
		}
		return nil
	})
}

// expel removes the spec of a member, as the door does at the end of a deletion.
func (h *house) expel(member string) {
	h.Helper()
	_, revision, found, err := h.specs.Find(member)
	require.NoError(h, err)
	require.True(h, found)
	gone := store.Delete(h.specs.Key(member), revision)
	gone.Note = "{}"
	_, err = h.store.Writer.Write(bustest.Context(h), gone)
	require.NoError(h, err)
}

// Who left the fleet works on for its farewell; then it is cut, and what it stored is gone. Another hub does what
// the one before did not come to.
func TestWhoLeftIsCutAndFreed(t *testing.T) {
	h := start(t, func(o *enroller.Options) { o.Farewell = time.Hour })
	h.admit("berlin")
	conn := h.enrolled(t.TempDir(), "berlin", h.token("berlin"))
	h.becomes(conn, api.AgentAdmitted)
	h.stores(conn)
	h.expel("berlin")
	bustest.Eventually(t, func() error {
		if h.record("berlin").Left == nil {
			return errors.New("it has not left")
		}
		return nil
	})
	require.NoError(t, conn.PutHeartbeat(t.Context(), api.Heartbeat{}))
	h.stop()

	h.run()
	h.refused(conn)
	bustest.Eventually(t, h.freed)
	require.Equal(t, "leaving", h.record("berlin").RevokedBy)
	h.admit("berlin")
	h.becomes(h.enrolled(t.TempDir(), "berlin", h.token("berlin")), api.AgentAdmitted)
}

// What was on its way when an agent was revoked is removed once it has arrived.
func TestWhatArrivesLateIsFreed(t *testing.T) {
	h := start(t)
	h.admit("berlin")
	conn := h.enrolled(t.TempDir(), "berlin", h.token("berlin"))
	h.becomes(conn, api.AgentAdmitted)
	h.revoke("berlin")
	h.stores(h.server.Agent(t, "berlin"))
	bustest.EventuallyIn(t, 20*time.Second, h.freed)
}

// Servers that are away are told later, and who waits for an answer does not wait for them.
func TestServersThatAreAwayAreToldLater(t *testing.T) {
	told := make(chan struct{})
	away := errors.New("no server answers")
	h := start(t, func(o *enroller.Options) {
		revoke := o.Revoke
		o.Revoke = func(account, key string) error {
			select {
			case <-told:
				return revoke(account, key)
			default:
				return away
			}
		}
	})
	h.admit("berlin")
	conn := h.enrolled(t.TempDir(), "berlin", h.token("berlin"))
	h.becomes(conn, api.AgentAdmitted)
	left := h.revoke("berlin").Left
	require.NotNil(t, left)
	require.Contains(t, left.Message, "its servers do not know yet: no server answers; the hub tries again")
	require.Equal(t, "flotilla member revoke berlin", left.Next)
	require.NoError(t, conn.Refused())
	h.enrolled(t.TempDir(), "oslo", h.token("oslo"))
	close(told)
	h.refused(conn)
}

// Where others made the credentials of agents the hub says whose to revoke.
func TestCredentialsOfOthersAreRevokedByThem(t *testing.T) {
	h := start(t, func(o *enroller.Options) { o.Issuer, o.Revoke = nil, nil })
	h.token("berlin")
	left := h.revoke("berlin").Left
	require.NotNil(t, left)
	require.Equal(t, "nsc revocations add-user --account AGENTS --name berlin && nsc push --account AGENTS", left.Next)
	_, err := h.tryRevoke("oslo")
	var failure *api.Failure
	require.ErrorAs(t, err, &failure)
	require.Equal(t, api.CodeNotFound, failure.Code)
	require.Equal(t, bus.RevokeCommandOf(subjects.AccountAgents, "oslo"), failure.Next)
}
