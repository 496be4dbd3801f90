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
	maxStatement = 4 << 10
	// What waits for its turn beyond this is lost, and servers forget the way back after a while, see subjects.Export.
	statementsQueued, bytesQueued = 64 << 10, 64 << 20
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

// Dismiss answers with nothing: who asked asks again. Servers keep the way back to everybody whom nobody answered.
func (e *Enrolment) Dismiss() {
	if err := e.conn.NC.Publish(e.reply, nil); err != nil {
		e.conn.Log.Debug().Err(err).Str("member", e.Member).Msg("dismissing an enrolment")
	}
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
// signed by the keys they name, or that come too often of one member, are dismissed.
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
	if err := s.subscription.SetPendingLimits(statementsQueued, bytesQueued); err != nil {
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
	if !s.leads() || m.Reply == "" {
		return
	}
	e := &Enrolment{conn: s.conn, reply: m.Reply}
	if !s.read(m, e) {
		e.Dismiss()
		return
	}
	if err := verified(s.conn.Fleet, e.Member, &e.Ask); err != nil {
		e.Answer(api.EnrolmentAnswer{Refused: &api.EnrolmentRefusal{Reason: RefusedUnsigned, Message: err.Error()}})
		return
	}
	s.hand(e)
}

// read reads a statement, false where it is none or comes too soon after others of its member.
func (s *Enrolments) read(m *nats.Msg, e *Enrolment) (ok bool) {
	if e.Member, ok = s.conn.Fleet.ParseEnrolment(m.Subject); !ok || len(m.Data) > maxStatement || !s.pace.Allows(e.Member, s.conn.Now()) {
		return false
	}
	info, ok := said.By(m, m.Size())
	if !ok {
		return false // it would say that somebody else asks
	}
	_, e.Address = said.Who(info)
	return json.Unmarshal(m.Data, &e.Ask) == nil && e.Ask.Kind == api.KindEnrolmentRequest
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
