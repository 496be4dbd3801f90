// Package enrolments hands over what agents state who want to be enrolled; room enroller answers.
package enrolments

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"flotilla/bus"
	"flotilla/bus/loop"
	"flotilla/bus/said"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// Bounds of what asks to be enrolled, so that a flood costs the others nothing.
const (
	maxStatement     = 4 << 10
	statementsQueued = 4096
	// A member may state something so often at once, and again after so long.
	statementsAtOnce = 10
	statementEvery   = time.Second
)

// Enrolment is the statement of an agent, whose signatures hold, and the way back to it.
type Enrolment struct {
	Member string
	Ask    api.EnrolmentRequest
	// Address is where the agent connected from, empty where the server does not tell.
	Address string

	conn  *bus.Conn
	reply string
}

// Answer sends an answer. Who does not get it asks again.
func (e *Enrolment) Answer(a api.EnrolmentAnswer) {
	a.Header = api.NewHeader(api.KindEnrolmentAnswer)
	text, err := json.Marshal(a)
	if err == nil {
		err = e.conn.NC.Publish(e.reply, text)
	}
	if err != nil {
		e.conn.Log.Warn().Err(err).Str("member", e.Member).Msg("answering an enrolment")
	}
}

// Enrolments hands over what agents state, one after the other. Statements that are no such thing, that are not
// signed by the keys they name, or that come too often of one member, are dropped.
type Enrolments struct {
	conn         *bus.Conn
	leads        func() bool
	subscription *nats.Subscription
	hand         func(*Enrolment)
	pace         *loop.Pace // by member
}

// Serve calls hand, on a goroutine of the connection, until Stop. Like requests of people, statements
// come to every hub, and whoever does not lead says nothing.
func Serve(c *bus.Conn, leads func() bool, hand func(*Enrolment)) (*Enrolments, error) {
	s := &Enrolments{conn: c, leads: leads, hand: hand, pace: loop.NewPace(statementsAtOnce, statementEvery)}
	var err error
	if s.subscription, err = c.NC.Subscribe(c.Fleet.Enrolment("*"), s.arrived); err != nil {
		return nil, fmt.Errorf("listening to enrolments: %w", err)
	}
	if err := s.subscription.SetPendingLimits(statementsQueued, statementsQueued*maxStatement); err != nil {
		return nil, fmt.Errorf("listening to enrolments: %w", err)
	}
	return s, nil
}

// Stop ends it; what is being answered is answered first.
func (s *Enrolments) Stop(ctx context.Context) {
	closed := make(chan struct{})
	s.subscription.SetClosedHandler(func(string) { close(closed) })
	if err := s.subscription.Drain(); err != nil {
		return // the connection is closed, and hears nothing either
	}
	select {
	case <-closed:
	case <-ctx.Done():
	}
}

// RefusedUnsigned is the reason of a refusal to whom the keys do not belong that a statement names.
const RefusedUnsigned = "Unsigned"

func (s *Enrolments) arrived(m *nats.Msg) {
	member, ok := s.conn.Fleet.ParseEnrolment(m.Subject)
	if !s.leads() || !ok || m.Reply == "" || len(m.Data) > maxStatement || !s.pace.Allows(member, s.conn.Now()) {
		return
	}
	e := &Enrolment{Member: member, conn: s.conn, reply: m.Reply}
	info, ok := said.By(m, m.Size())
	if !ok {
		return // it would say that somebody else asks
	}
	_, e.Address = said.Who(info)
	if err := json.Unmarshal(m.Data, &e.Ask); err != nil || e.Ask.Kind != api.KindEnrolmentRequest {
		return
	}
	if err := verified(s.conn.Fleet, member, &e.Ask); err != nil {
		e.Answer(api.EnrolmentAnswer{Refused: &api.EnrolmentRefusal{Reason: RefusedUnsigned, Message: err.Error()}})
		return
	}
	s.hand(e)
}

// verified says that a statement is signed by the keys that it names.
func verified(fleet subjects.Fleet, member string, ask *api.EnrolmentRequest) error {
	statement := ask.Statement(fleet.Name, member)
	if !nkeys.IsValidPublicCurveKey(ask.SealingKey) {
		return fmt.Errorf("sealing key %.60q: expected a public curve key, which begins with X", ask.SealingKey)
	}
	if err := signedBy(ask.Key, statement, ask.Signature); err != nil {
		return fmt.Errorf("the key of the agent: %w", err)
	}
	if ask.Token == "" {
		return nil
	}
	if err := signedBy(ask.Token, statement, ask.TokenSignature); err != nil {
		return fmt.Errorf("the token: %w", err)
	}
	return nil
}

func signedBy(key string, statement, signature []byte) error {
	if !nkeys.IsValidPublicUserKey(key) {
		return fmt.Errorf("%.60q: expected the public key of a user, which begins with U", key)
	}
	public, err := nkeys.FromPublicKey(key)
	if err == nil {
		err = public.Verify(statement, signature)
	}
	if err != nil {
		return fmt.Errorf("%s did not sign this statement", key)
	}
	return nil
}
