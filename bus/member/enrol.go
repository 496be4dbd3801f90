package member

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"flotilla/bus"
	"flotilla/core/api"
)

const (
	// waitToJoin is for how long an agent waits to hear that its member was admitted before it asks again.
	waitToJoin = 30 * time.Second
	waitAnswer = 5 * time.Second
)

// Wallet is what the connection proves with who it is; nil when it was given credentials that others made.
func (a *Conn) Wallet() *Wallet { return a.wallet }

// Role is that of the credentials of the connection.
func (a *Conn) Role() string {
	if !a.brings {
		return api.AgentAdmitted
	}
	return a.wallet.role()
}

// may says whether the agent may do now what a role may.
func (a *Conn) may(role string) error {
	switch a.Role() {
	case api.AgentAdmitted, role:
		return nil
	case api.AgentJoining:
		return bus.ErrNotAdmitted
	}
	return bus.ErrNotEnrolled
}

// EnrolIn is after how long the agent has to ask for credentials, 0 when it is to ask now; false when it has no
// need to. Until its member is admitted an agent always asks, and is answered when it is.
func (a *Conn) EnrolIn() (after time.Duration, ok bool) {
	at, ok := a.wallet.renewBy()
	return max(0, time.Until(at)), ok
}

// Given are credentials that an agent was given.
type Given struct {
	Role string
	// Key is the public key that they are for, by which the hub knows the agent.
	Key string
	// Ends is when the credentials end, by the clock of the process; zero is never.
	Ends time.Time
}

// Enrol asks the hub for credentials, keeps them and connects with them. A refusal is an *api.EnrolmentRefusal;
// context.DeadlineExceeded says that nobody answered, or that the member is not admitted yet.
func (a *Conn) Enrol(ctx context.Context) (Given, error) {
	ask, err := a.wallet.ask(a.Now(), a.conn.Fleet.Name)
	if err != nil {
		return Given{}, err
	}
	text, err := json.Marshal(ask)
	if err != nil {
		return Given{}, err
	}
	patience := waitAnswer
	if ask.Holds == api.AgentJoining {
		patience = waitToJoin
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	m, err := a.conn.NC.RequestWithContext(ctx, a.conn.Fleet.Enrolment(a.member), text)
	if err != nil {
		return Given{}, fmt.Errorf("asking for credentials: %w", err)
	}
	if len(m.Data) == 0 {
		return Given{}, errors.New("asking for credentials: the hub gives no answer now; the agent asks again")
	}
	var answer api.EnrolmentAnswer
	if json.Unmarshal(m.Data, &answer) != nil || answer.Kind != api.KindEnrolmentAnswer {
		return Given{}, errors.New("asking for credentials: the answer cannot be read")
	}
	if answer.Refused != nil {
		return Given{}, a.wallet.refuse(answer.Refused)
	}
	if err := a.wallet.keep(&answer, a.told); err != nil {
		return Given{}, err
	}
	given := Given{Role: answer.Role, Key: ask.Key}
	if answer.Holds.Duration > 0 {
		given.Ends = a.Now().Add(answer.Holds.Duration)
	}
	if !a.brings {
		return given, nil
	}
	a.hints.reconnects()
	return given, a.conn.NC.ForceReconnect()
}

// ask makes a signed statement, newer than all before.
func (w *Wallet) ask(now time.Time, fleet string) (*api.EnrolmentRequest, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.current()
	w.serial = max(w.serial+1, now.UnixNano())
	r := &api.EnrolmentRequest{Header: api.NewHeader(api.KindEnrolmentRequest), Serial: w.serial}
	if w.next == nil && w.shown.role != api.AgentEnrolling {
		r.Holds = p.Role
	}
	var err error
	if r.Key, err = p.key.PublicKey(); err != nil {
		return nil, err
	}
	if r.SealingKey, err = p.sealing.PublicKey(); err != nil {
		return nil, err
	}
	if w.next != nil {
		r.Token = p.Token
	}
	statement := r.Statement(fleet, p.Member)
	if r.Signature, err = p.key.Sign(statement); err != nil || w.next == nil {
		return r, err
	}
	r.TokenSignature, err = w.tokenKey.Sign(statement)
	return r, err
}

// refuse takes in why there are no credentials. A token that is good for nothing is let go of where the agent is
// enrolled without it.
func (w *Wallet) refuse(refusal *api.EnrolmentRefusal) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.serial = max(w.serial, refusal.Serial)
	if w.next == nil || w.held == nil || refusal.Later {
		return refusal
	}
	w.next = nil
	return errors.Join(refusal, w.vault.Remove(enrollingFile))
}

// told is where servers are that a wallet knows at a URL: over TLS once those speak it that the agent reaches there.
func (a *Conn) told(url string) string {
	if reached := a.conn.URL(); api.OverTLS(url) == reached {
		return reached
	}
	return url
}

// keep puts what was given in the place of what there was, and where the servers were found to be.
func (w *Wallet) keep(answer *api.EnrolmentAnswer, told func(url string) string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := *w.current()
	p.Credentials, p.Returning, p.Role, p.URL = answer.Credentials, answer.Returning, answer.Role, told(p.URL)
	if err := p.date(); err != nil {
		return err
	}
	if err := w.write(walletFile, &p); err != nil {
		return err
	}
	w.held = &p
	if w.next == nil {
		return nil
	}
	w.next = nil
	return w.vault.Remove(enrollingFile)
}
