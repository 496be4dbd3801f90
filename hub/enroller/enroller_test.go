package enroller_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/member"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/core/enrolment"
	"flotilla/hub/enroller"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// house is a leader's store with an enroller on it.
type house struct {
	*testing.T
	server  *bustest.Server
	store   *store.Store
	room    *enroller.Enroller
	records *store.Table[api.Identity]
	specs   *store.Table[api.Spec]
	stop    func()
}

func start(t *testing.T, change ...func(*enroller.Options)) *house {
	t.Helper()
	server := bustest.Start(t)
	h := &house{T: t, server: server, store: server.Lead(t)}
	h.records = store.TableOf[api.Identity](h.store.State, subjects.Identities)
	h.specs = store.TableOf[api.Spec](h.store.State, subjects.MemberSpecs)
	h.run(change...)
	return h
}

// run starts a room; an earlier one is to be stopped first.
func (h *house) run(change ...func(*enroller.Options)) {
	o := enroller.Options{Issuer: h.server.Issuer(), Revoke: h.server.Revoke, URL: h.server.URL(), Log: h.store.Conn.Log}
	for _, f := range change {
		f(&o)
	}
	h.room = enroller.New(h.store, o)
	h.stop = bustest.Room(h.T, h.room)
}

// token makes one through the verb, as anna.
func (h *house) token(member string) *api.Token {
	h.Helper()
	body, err := json.Marshal(api.EnrolRequest{Name: member})
	require.NoError(h, err)
	answer, err := h.room.Verbs()[api.VerbEnrol](h.Context(), api.Caller{Name: "anna", Role: api.RoleAdmin}, body)
	require.NoError(h, err)
	made, ok := answer.(*api.EnrolResponse)
	require.True(h, ok)
	return &made.Token
}

// admit writes the spec of a member, as the door would.
func (h *house) admit(member string) {
	h.Helper()
	spec := api.Spec{Header: api.NewHeader(api.KindSpec), UID: "u1", Body: json.RawMessage(`{}`)}
	_, err := h.store.Writer.Write(bustest.Context(h), store.Put(h.specs.Key(member), spec, 0))
	require.NoError(h, err)
}

// agent connects with the wallet of a folder, and a token if there is one.
func (h *house) agent(dir, name string, token *api.Token) (*member.Conn, error) {
	h.Helper()
	wallet, err := member.OpenWallet(member.Folder(dir), token)
	require.NoError(h, err)
	o := bus.Options{
		Fleet: bustest.Fleet, Wallet: wallet, Log: h.store.Conn.Log, Now: elsewhen.Now,
		Reconnect: bus.Reconnect{Wait: 20 * time.Millisecond, Jitter: 20 * time.Millisecond}, Getenv: func(string) string { return "" },
	}
	conn, err := member.Connect(h.Context(), o, name)
	if err == nil {
		h.Cleanup(conn.Close)
	}
	return conn, err
}

// enrolled connects an agent and asks until it is answered.
func (h *house) enrolled(dir, member string, token *api.Token) *member.Conn {
	h.Helper()
	conn, err := h.agent(dir, member, token)
	require.NoError(h, err)
	bustest.Eventually(h, func() error {
		_, err := conn.Enrol(h.Context())
		return err
	})
	return conn
}

// becomes waits for the role of a connection that is up.
func (h *house) becomes(conn *member.Conn, role string) {
	h.Helper()
	bustest.Eventually(h, func() error {
		if err := conn.Up(); err != nil {
			return err
		}
		if conn.Role() != role {
			return fmt.Errorf("its role is %s", conn.Role())
		}
		return nil
	})
}

func (h *house) record(member string) api.Identity {
	h.Helper()
	var found api.Identity
	bustest.Eventually(h, func() error {
		var there bool
		if found, _, there = h.records.Get(member); !there {
			return errors.New("no identity")
		}
		return nil
	})
	return found
}

// refusal asks and returns why there are no credentials.
func refusal(t *testing.T, conn *member.Conn) *api.EnrolmentRefusal {
	t.Helper()
	var found *api.EnrolmentRefusal
	bustest.Eventually(t, func() error {
		_, err := conn.Enrol(t.Context())
		if !errors.As(err, &found) {
			return fmt.Errorf("no refusal: %w", err)
		}
		return nil
	})
	return found
}

// An agent makes its keys itself, trades its token for credentials, is heard before its member is admitted, and works
// once it is.
func TestAnAgentEnrolsWithAKeyOfItsOwn(t *testing.T) {
	h := start(t)
	dir := t.TempDir()
	conn := h.enrolled(dir, "berlin", h.token("berlin"))
	h.becomes(conn, api.AgentJoining)
	require.NoError(t, conn.PutHeartbeat(t.Context(), api.Heartbeat{Healthy: true}))
	require.ErrorIs(t, conn.PutInventory(t.Context(), api.MemberInventory{}), bus.ErrNotAdmitted)

	record := h.record("berlin")
	require.Equal(t, conn.Wallet().Key(), record.Key)
	require.Equal(t, conn.Wallet().SealingKey(), record.SealingKey)
	require.Equal(t, record.Key, record.Tokens[0].UsedBy)
	require.Equal(t, "anna", record.Tokens[0].By)

	answered := make(chan error, 1)
	go func() {
		_, err := conn.Enrol(t.Context())
		answered <- err
	}()
	h.admit("berlin")
	require.NoError(t, <-answered, "who waits is answered when the member is admitted")
	h.becomes(conn, api.AgentAdmitted)
	require.NoError(t, conn.PutInventory(t.Context(), api.MemberInventory{}))

	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 1, "keys of the token are gone")
	info, err := files[0].Info()
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

// A restart needs no token, and neither does an agent that was away for longer than its credentials hold.
func TestWhoWasAwayComesBackWithItsKey(t *testing.T) {
	h := start(t, func(o *enroller.Options) { o.Life = time.Second })
	h.admit("berlin")
	dir := t.TempDir()
	h.enrolled(dir, "berlin", h.token("berlin")).Close()
	key := h.record("berlin").Key
	bustest.Eventually(t, func() error {
		conn, err := h.agent(dir, "berlin", nil)
		require.NoError(t, err)
		if conn.Role() == api.AgentEnrolling {
			return nil
		}
		conn.Close()
		return errors.New("its credentials hold still")
	})
	h.stop()
	h.run()
	conn := h.enrolled(dir, "berlin", nil)
	h.becomes(conn, api.AgentAdmitted)
	require.Equal(t, key, h.record("berlin").Key)
	require.Equal(t, key, conn.Wallet().Key())
}

// Between the write of the hub and its own disk an agent is killed: the same token and the same key get the answer
// again.
func TestAnAnswerThatWasLostIsGivenAgain(t *testing.T) {
	h := start(t)
	h.admit("berlin")
	dir, token := t.TempDir(), h.token("berlin")
	first, err := h.agent(dir, "berlin", token)
	require.NoError(t, err)
	before := t.TempDir()
	bustest.CopyFolder(t, before, dir)
	bustest.Eventually(t, func() error {
		_, err := first.Enrol(t.Context())
		return err
	})
	first.Close()
	record := h.record("berlin")

	again := h.enrolled(before, "berlin", token)
	h.becomes(again, api.AgentAdmitted)
	require.Equal(t, record, h.record("berlin"), "nothing was written")
	require.Equal(t, record.Key, again.Wallet().Key())
}

// A token is used once: who comes second learns who was first and when, and everybody is told.
func TestATokenThatWasUsedIsRefusedAndTold(t *testing.T) {
	h := start(t)
	h.admit("berlin")
	token := h.token("berlin")
	first := h.enrolled(t.TempDir(), "berlin", token)
	thief, err := h.agent(t.TempDir(), "berlin", token)
	require.NoError(t, err)
	refused := refusal(t, thief)
	require.Equal(t, enrolment.ReasonTokenUsed, refused.Reason)
	require.Contains(t, refused.Message, "by key "+first.Wallet().Key())
	require.Equal(t, api.AgentEnrolling, thief.Role())
	bustest.Eventually(t, func() error { return h.told("TokenReused", thief.Wallet().Key()) })
	h.becomes(first, api.AgentAdmitted)
}

// told looks for an event of berlin whose message holds a text.
func (h *house) told(reason, text string) error {
	found, err := streams.ReadAudit(bustest.Context(h), h.store.Conn, streams.AuditQuery{Object: "member/berlin"})
	for _, e := range found {
		if e.Reason == reason && strings.Contains(e.Message, text) {
			return nil
		}
	}
	return fmt.Errorf("no event %s with %s in %+v (%w)", reason, text, found, err)
}

// asToken connects as whoever holds a token.
func asToken(t *testing.T, token *api.Token) nats.Option {
	t.Helper()
	key, err := nkeys.FromSeed([]byte(token.Seed))
	require.NoError(t, err)
	return nats.UserJWT(func() (string, error) { return token.Credentials, nil }, key.Sign)
}

// Another agent takes the place of the first with a token of its own; the first is cut, and its key refused for ever.
func TestANewAgentTakesThePlaceOfTheFormer(t *testing.T) {
	h := start(t)
	h.admit("berlin")
	old := t.TempDir()
	former := h.enrolled(old, "berlin", h.token("berlin"))
	h.becomes(former, api.AgentAdmitted)
	next := h.enrolled(t.TempDir(), "berlin", h.token("berlin"))
	h.becomes(next, api.AgentAdmitted)
	bustest.Eventually(t, func() error {
		if former.Refused() == nil {
			return errors.New("the former agent is connected")
		}
		return nil
	})
	require.True(t, h.server.Revoked(subjects.AccountAgents, former.Wallet().Key()))
	require.NoError(t, next.PutHeartbeat(t.Context(), api.Heartbeat{}))
}

// Statements that nobody signed are dropped before anything is looked up, and a flood of one member costs others
// nothing.
func TestStatementsAreSignedAndPaced(t *testing.T) {
	h := start(t)
	h.admit("berlin")
	token := h.token("oslo")
	flood, err := nats.Connect(h.server.URL(), nats.CustomInboxPrefix(subjects.Inbox("oslo")), asToken(t, token))
	require.NoError(t, err)
	t.Cleanup(flood.Close)
	subject := h.store.Conn.Fleet.Enrolment("oslo")
	forged, err := json.Marshal(api.EnrolmentRequest{Header: api.NewHeader(api.KindEnrolmentRequest), Key: "UFORGED", SealingKey: "X"})
	require.NoError(t, err)
	m, err := flood.Request(subject, forged, 10*time.Second)
	require.NoError(t, err)
	require.Contains(t, string(m.Data), "Unsigned")
	answered, err := flood.SubscribeSync(subjects.Inbox("oslo") + ".x")
	require.NoError(t, err)
	for range 20_000 {
		require.NoError(t, flood.PublishRequest(subject, subjects.Inbox("oslo")+".x", forged))
	}
	require.NoError(t, flood.PublishRequest(subject, subjects.Inbox("oslo")+".x", []byte("no statement")))
	for range 20_001 { // servers keep the way back to who is not answered
		_, err := answered.NextMsg(10 * time.Second)
		require.NoError(t, err)
	}
	conn := h.enrolled(t.TempDir(), "berlin", h.token("berlin"))
	h.becomes(conn, api.AgentAdmitted)
	require.Empty(t, h.record("oslo").Key)
}

// Who waits for its member to be admitted is told to ask again when it asks anew elsewhere, and when another hub is to lead.
func TestWhoWaitsToBeAdmittedIsDismissed(t *testing.T) {
	h := start(t)
	conn := h.enrolled(t.TempDir(), "oslo", h.token("oslo"))
	h.becomes(conn, api.AgentJoining)
	answers := make(chan error, 2)
	ask := func() {
		before := h.room.Waiting("oslo")
		go func() {
			_, err := conn.Enrol(t.Context())
			answers <- err
		}()
		bustest.Eventually(t, func() error {
			if now := h.room.Waiting("oslo"); now == nil || now == before {
				return errors.New("nobody waits")
			}
			return nil
		})
	}
	ask()
	ask()
	require.ErrorContains(t, <-answers, "asks again")
	h.stop()
	require.ErrorContains(t, <-answers, "asks again")
}

// Where somebody else makes the credentials an agent registers its keys alone.
func TestKeysAreRegisteredWithoutCredentials(t *testing.T) {
	h := start(t, func(o *enroller.Options) { o.Issuer = nil })
	wallet, err := member.OpenWallet(member.Folder(t.TempDir()), h.token("berlin"))
	require.NoError(t, err)
	o := h.server.AgentOptions(t, "berlin")
	o.Wallet = wallet
	conn, err := member.Connect(t.Context(), o, "berlin")
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	bustest.Eventually(t, func() error {
		_, err := conn.Enrol(t.Context())
		return err
	})
	require.Equal(t, wallet.SealingKey(), h.record("berlin").SealingKey)
	_, needed := conn.EnrolIn()
	require.False(t, needed)
	require.True(t, conn.Connected())
}

// A token that is good for nothing does not keep an agent from working that is enrolled without it.
func TestABadTokenIsLetGoOf(t *testing.T) {
	h := start(t)
	h.admit("berlin")
	dir, used := t.TempDir(), h.token("berlin")
	h.enrolled(t.TempDir(), "berlin", used)
	h.enrolled(dir, "berlin", h.token("berlin")).Close()
	conn, err := h.agent(dir, "berlin", used)
	require.NoError(t, err)
	require.Equal(t, enrolment.ReasonTokenUsed, refusal(t, conn).Reason)
	_, err = os.Stat(filepath.Join(dir, "identity.enrolling.json"))
	require.ErrorIs(t, err, os.ErrNotExist)
	conn.Close()
	again, err := h.agent(dir, "berlin", nil)
	require.NoError(t, err)
	h.becomes(again, api.AgentAdmitted)
}

func TestTokensThatCannotBeMade(t *testing.T) {
	h := start(t)
	for _, request := range []string{`{"name":"a.b"}`, `{"name":"berlin","life":"1s"}`, `{"name":"berlin","life":"721h"}`, `{`} {
		_, err := h.room.Verbs()[api.VerbEnrol](t.Context(), api.Caller{Name: "anna"}, []byte(request))
		var failure *api.Failure
		require.ErrorAs(t, err, &failure, request)
		require.Equal(t, api.CodeInvalid, failure.Code, request)
	}
}

// Who asks where a token would lead gets none, and nothing is written; what would be refused is.
func TestAskingWhereATokenLeadsMakesNone(t *testing.T) {
	h := start(t)
	ask := func(request api.EnrolRequest) (any, error) {
		request.DryRun = true
		body, err := json.Marshal(request)
		require.NoError(t, err)
		return h.room.Verbs()[api.VerbEnrol](t.Context(), api.Caller{Name: "anna", Role: api.RoleAdmin}, body)
	}
	answer, err := ask(api.EnrolRequest{Name: "berlin"})
	require.NoError(t, err)
	require.Equal(t, &api.EnrolResponse{Token: api.Token{Fleet: bustest.Fleet, Member: "berlin", URL: h.server.URL()}}, answer)
	_, _, found := h.records.Get("berlin")
	require.False(t, found)
	events, err := streams.ReadAudit(bustest.Context(t), h.server.Inspector(t), streams.AuditQuery{Object: "member/berlin"})
	require.NoError(t, err)
	require.Empty(t, events)
	for _, wrong := range []api.EnrolRequest{{Name: "Berlin!"}, {Name: "berlin", Life: metav1.Duration{Duration: time.Second}}} {
		_, err = ask(wrong)
		require.Error(t, err, "%+v", wrong)
	}
}
