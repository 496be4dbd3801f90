package hostile

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/bus/enrolments"
	"flotilla/core/api"
	"flotilla/core/enrolment"
	"flotilla/hub/dev"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// Tokens are good for one key of one member until they end, and nobody guesses one.
func TestTokensOfOthers(t *testing.T) {
	var ahead atomic.Int64
	g := newGround(t, func(o *dev.Options) {
		o.Hub.Now = func() time.Time { return elsewhen.Now().Add(time.Duration(ahead.Load())) }
	})
	before := g.key(victim)
	thief := newKeys(t)
	insider := g.hub.NC // whom no permissions hold back

	_, own := g.token(attacker, time.Hour)
	require.Equal(t, enrolment.ReasonUnknownToken, g.refusal(insider, victim, thief.says(victim, own)), "of another member")
	guessed, err := nkeys.CreateUser()
	require.NoError(t, err)
	require.Equal(t, enrolment.ReasonUnknownToken, g.refusal(insider, victim, thief.says(victim, guessed)), "guessed")
	stolen, short := g.token(victim, time.Hour)
	forged := thief.says(victim, short)
	forged.TokenSignature = thief.says(victim, own).TokenSignature
	require.Equal(t, enrolments.RefusedUnsigned, g.refusal(insider, victim, forged), "only its public part is known")
	require.Equal(t, before, g.key(victim))

	nc, err := g.shows(short, stolen.Credentials, victim)
	require.NoError(t, err)
	require.Nil(t, g.asks(nc, attacker, thief.says(attacker, own)), "a token of one member does not ask for another")
	g.refused("enrol." + attacker)
	second := newKeys(t)
	require.Nil(t, g.answered(nc, victim, newKeys(t).says(victim, short)).Refused)
	require.Equal(t, enrolment.ReasonTokenUsed, g.refusal(nc, victim, second.says(victim, short)), "used")
	g.told(victim, "TokenReused")

	_, late := g.token(victim, time.Minute)
	ahead.Store(int64(time.Hour))
	require.Equal(t, enrolment.ReasonTokenEnded, g.refusal(insider, victim, second.says(victim, late)))
}

// told waits for an event about a member.
func (g *ground) told(member, reason string) {
	g.Helper()
	bustest.Eventually(g, func() error {
		var events api.EventsResponse
		if err := bus.Request(g.Context(), g.fleet.Client, api.VerbEvents, api.EventsRequest{Object: subjects.KindMember + "/" + member}, &events, bus.RequestOptions{}); err != nil {
			return err
		}
		for i := range events.Events {
			if events.Events[i].Reason == reason {
				return nil
			}
		}
		return errors.New("no event " + reason)
	})
}

// A statement that was overheard is worth nothing: it is heard once, for the keys, the member and the fleet that it
// names, and what it is answered is of use to these keys alone.
func TestStatementsThatWereOverheard(t *testing.T) {
	g := newGround(t)
	honest, thief := newKeys(t), newKeys(t)
	_, token := g.token(attacker, time.Hour)
	said := honest.says(attacker, token)
	answer := g.answered(g.hub.NC, attacker, said)
	require.Nil(t, answer.Refused)

	require.Equal(t, enrolment.ReasonReplayed, g.refusal(g.hub.NC, attacker, said))
	_, err := g.shows(thief.user, answer.Credentials, attacker)
	require.ErrorIs(t, err, nats.ErrAuthorization, "an answer is nothing without the key")

	for name, change := range map[string]func(r *api.EnrolmentRequest){
		"another key":         func(r *api.EnrolmentRequest) { r.Key = thief.public(thief.user) },
		"another sealing key": func(r *api.EnrolmentRequest) { r.SealingKey = thief.public(thief.sealing) },
		"a later serial":      func(r *api.EnrolmentRequest) { r.Serial += int64(time.Hour) },
		"another role":        func(r *api.EnrolmentRequest) { r.Holds = api.AgentAdmitted },
		"without the token":   func(r *api.EnrolmentRequest) { r.Token, r.TokenSignature = "", nil },
		"with another token":  func(r *api.EnrolmentRequest) { r.Token = thief.public(thief.user) },
		"an operator's key":   func(r *api.EnrolmentRequest) { r.Key = strings.Replace(r.Key, "U", "O", 1) },
	} {
		changed := *said
		change(&changed)
		require.Equal(t, enrolments.RefusedUnsigned, g.refusal(g.hub.NC, attacker, &changed), name)
	}
	require.Equal(t, enrolments.RefusedUnsigned, g.refusal(g.hub.NC, victim, said), "for another member")
	require.Equal(t, enrolment.ReasonOtherKey, g.refusal(g.hub.NC, victim, thief.says(victim, nil)), "with a key of their own")
	swapped := *honest
	swapped.sealing = thief.sealing
	require.Equal(t, enrolment.ReasonOtherKey, g.refusal(g.hub.NC, attacker, swapped.says(attacker, nil)), "the agent itself reads with another key")
	require.Equal(t, honest.public(honest.user), g.key(attacker))
}

// An agent whose place another took is cut, and gets neither in nor anything more.
func TestAnAgentWhosePlaceWasTaken(t *testing.T) {
	g := newGround(t)
	old, next := newKeys(t), newKeys(t)
	answer, nc := g.enrols(old, attacker)
	_, _ = g.enrols(next, attacker)
	g.outcast(old, answer, nc)
	require.Equal(t, next.public(next.user), g.key(attacker))
}

// A connection that was open when its agent was revoked is cut, and nothing stays that it sent since: what a server had
// read already when it cut the connection is removed.
func TestAnAgentThatWasRevoked(t *testing.T) {
	g := newGround(t)
	k := newKeys(t)
	answer, nc := g.enrols(k, attacker)
	_, err := nc.SubscribeSync(g.names.Hint(attacker, "*"))
	require.NoError(t, err)
	require.NoError(t, nc.Flush())
	g.ask(api.VerbMemberRevoke, api.MemberRevokeRequest{Name: attacker})
	heartbeat := g.names.BucketSubject(subjects.Heartbeat, attacker)
	for range 100 {
		_ = nc.Publish(heartbeat, []byte(marker))
	}
	_ = nc.FlushTimeout(time.Second)
	g.outcast(k, answer, nc)
	require.Empty(t, g.key(attacker))
	bustest.Eventually(t, func() error {
		if strings.Contains(string(g.stored()[heartbeat]), marker) {
			return errors.New("its heartbeat is stored")
		}
		return nil
	})
	require.NoError(t, func() error { _, again := g.enrols(newKeys(t), attacker); return again.Flush() }(), "another agent, with a token")
	g.lives()
}

// outcast requires that a connection is closed, and that no credentials that its key ever had open another.
func (g *ground) outcast(k *keys, answer *api.EnrolmentAnswer, nc *nats.Conn) {
	g.Helper()
	bustest.Eventually(g, func() error {
		if !nc.IsClosed() {
			return errors.New("its connection goes on")
		}
		return nil
	})
	for _, credentials := range []string{answer.Credentials, answer.Returning} {
		_, err := g.shows(k.user, credentials, attacker)
		require.ErrorIs(g, err, nats.ErrAuthorization)
	}
	require.Equal(g, enrolment.ReasonRefusedKey, g.refusal(g.hub.NC, attacker, k.says(attacker, nil)))
	_, token := g.token(attacker, time.Hour)
	require.Equal(g, enrolment.ReasonRefusedKey, g.refusal(g.hub.NC, attacker, k.says(attacker, token)), "with a token too")
}

// Nobody writes their own credentials: not with their own key, nor that of their member, nor with what a token has.
func TestCredentialsThatNobodyGave(t *testing.T) {
	g := newGround(t)
	k := newKeys(t)
	answer, nc := g.enrols(k, attacker)
	claims, err := jwt.DecodeUserClaims(answer.Credentials)
	require.NoError(t, err)
	claims.Name = victim
	own, err := claims.Encode(k.user)
	if err == nil {
		_, err = g.shows(k.user, own, victim)
	}
	require.Error(t, err, "a user signs no users")
	parts := strings.Split(answer.Credentials, ".")
	body, err := json.Marshal(claims)
	require.NoError(t, err)
	parts[1] = base64.RawURLEncoding.EncodeToString(body)
	_, err = g.shows(k.user, strings.Join(parts, "."), victim)
	require.ErrorIs(t, err, nats.ErrAuthorization, "changed after it was signed")

	before := g.stored()
	text, err := json.Marshal(k.says(attacker, nil))
	require.NoError(t, err)
	for _, reply := range []string{
		g.names.BucketSubject(subjects.Heartbeat, victim), g.names.BucketSubject(subjects.State, "spec.member."+victim), "$JS.API.STREAM.NAMES",
	} {
		require.NoError(t, nc.PublishRequest(g.names.Enrolment(attacker), reply, text))
	}
	require.NoError(t, nc.Flush())
	for subject, stored := range g.stored() {
		if !g.own(subject) {
			require.NotContains(t, string(stored), api.KindEnrolmentAnswer, subject)
		}
	}
	g.unharmed(before)
}

// Who asks without end is not heard without end, and keeps nobody else waiting.
func TestAFloodOfStatements(t *testing.T) {
	g := newGround(t)
	k := newKeys(t)
	_, nc := g.enrols(k, attacker)
	text, err := json.Marshal(k.says(attacker, nil))
	require.NoError(t, err)
	for i := range 20_000 {
		body := text
		if i%2 == 0 {
			body = []byte(strings.Repeat("{", 4<<10))
		}
		require.NoError(t, nc.PublishRequest(g.names.Enrolment(attacker), nc.NewRespInbox(), body))
	}
	_, other := g.enrols(newKeys(t), victim)
	require.NoError(t, other.Flush())
}
