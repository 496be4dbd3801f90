package hostile

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// keys are those of an agent that does as it likes.
type keys struct {
	*testing.T
	user, sealing nkeys.KeyPair
	serial        int64
}

func newKeys(t *testing.T) *keys {
	t.Helper()
	user, err := nkeys.CreateUser()
	require.NoError(t, err)
	sealing, err := nkeys.CreateCurveKeys()
	require.NoError(t, err)
	return &keys{T: t, user: user, sealing: sealing, serial: elsewhen.Now().UnixNano()}
}

func (k *keys) public(pair nkeys.KeyPair) string {
	key, err := pair.PublicKey()
	require.NoError(k, err)
	return key
}

// says is a statement for a member, signed; with a token where there is one.
func (k *keys) says(member string, token nkeys.KeyPair) *api.EnrolmentRequest {
	k.Helper()
	k.serial++
	r := &api.EnrolmentRequest{
		Header: api.NewHeader(api.KindEnrolmentRequest), Key: k.public(k.user), SealingKey: k.public(k.sealing), Serial: k.serial,
	}
	if token != nil {
		r.Token = k.public(token)
	}
	var err error
	r.Signature, err = k.user.Sign(r.Statement("test", member))
	require.NoError(k, err)
	if token != nil {
		r.TokenSignature, err = token.Sign(r.Statement("test", member))
		require.NoError(k, err)
	}
	return r
}

// asks sends a statement on the subject of a member and returns the answer, nil when nobody gives one, or it says nothing.
func (g *ground) asks(nc *nats.Conn, member string, r *api.EnrolmentRequest) *api.EnrolmentAnswer {
	g.Helper()
	text, err := json.Marshal(r)
	require.NoError(g, err)
	m, err := nc.Request(g.names.Enrolment(member), text, 2*time.Second)
	if errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrNoResponders) {
		return nil
	}
	require.NoError(g, err)
	if len(m.Data) == 0 {
		return nil
	}
	var answer api.EnrolmentAnswer
	require.NoError(g, json.Unmarshal(m.Data, &answer))
	return &answer
}

// answered asks until there is an answer: who asks often is not heard each time.
func (g *ground) answered(nc *nats.Conn, member string, r *api.EnrolmentRequest) (answer *api.EnrolmentAnswer) {
	g.Helper()
	bustest.EventuallyIn(g, time.Minute, func() error {
		if answer = g.asks(nc, member, r); answer == nil {
			return errors.New("nobody answers")
		}
		return nil
	})
	return answer
}

// refusal requires that a statement is refused and says why.
func (g *ground) refusal(nc *nats.Conn, member string, r *api.EnrolmentRequest) string {
	g.Helper()
	answer := g.answered(nc, member, r)
	require.NotNil(g, answer.Refused)
	require.Empty(g, answer.Credentials+answer.Returning)
	return answer.Refused.Reason
}

// token makes one for a member.
func (g *ground) token(member string, life time.Duration) (*api.Token, nkeys.KeyPair) {
	g.Helper()
	var made api.EnrolResponse
	request := api.EnrolRequest{Name: member}
	request.Life.Duration = life
	require.NoError(g, bus.Request(g.Context(), g.fleet.Client, api.VerbEnrol, request, &made, bus.RequestOptions{}))
	pair, err := nkeys.FromSeed([]byte(made.Token.Seed))
	require.NoError(g, err)
	return &made.Token, pair
}

// shows connects with a user JWT of a key, as whoever holds both would.
func (g *ground) shows(pair nkeys.KeyPair, token, member string) (*nats.Conn, error) {
	g.Helper()
	seed, err := pair.Seed()
	require.NoError(g, err)
	nc, err := nats.Connect(g.fleet.Hub.Server().URL(), nats.UserJWTAndSeed(token, string(seed)), nats.CustomInboxPrefix(subjects.Inbox(member)), nats.NoReconnect(),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { g.refusals <- err }))
	if err == nil {
		g.Cleanup(nc.Close)
	}
	return nc, err
}

// enrols trades a new token for the credentials of a member's agent, and connects with them.
func (g *ground) enrols(k *keys, member string) (*api.EnrolmentAnswer, *nats.Conn) {
	g.Helper()
	token, pair := g.token(member, time.Hour)
	first, err := g.shows(pair, token.Credentials, member)
	require.NoError(g, err)
	answer := g.answered(first, member, k.says(member, pair))
	require.Nil(g, answer.Refused)
	nc, err := g.shows(k.user, answer.Credentials, member)
	require.NoError(g, err)
	return answer, nc
}

// key is what the hub holds for the key of a member's agent.
func (g *ground) key(member string) string {
	g.Helper()
	var shown api.MemberCluster
	require.NoError(g, bus.Request(bustest.Context(g), g.fleet.Client, api.VerbGet, api.GetRequest{Kind: api.KindMemberCluster, Name: member}, &shown, bus.RequestOptions{}))
	require.NotNil(g, shown.Status.Credentials)
	return shown.Status.Credentials.Key
}
