package member

import (
	"time"

	"flotilla/bus"
	"flotilla/core/api"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// presented is what a connection is made with: the user JWT of a key, and what it may do.
type presented struct {
	role  string
	token string
	key   nkeys.KeyPair
}

// Brings says that the wallet holds credentials, which is not so where somebody else makes them; a nil one holds none.
func (w *Wallet) Brings() bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.choose().token != ""
}

// Account is the public key of the account of the fleet that the agent is enrolled in, empty where somebody else makes credentials; false
// before a hub agreed.
func (w *Wallet) Account() (account string, enrolled bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held == nil {
		return "", false
	}
	claims, err := jwt.DecodeUserClaims(w.held.Credentials)
	if err != nil {
		return "", true
	}
	return bus.AccountOf(claims), true
}

// choose is what to show to a server: a token that is to be traded, else the credentials for work while they hold,
// else those that ask for others. After a refusal it is the next of them; the lock is held.
func (w *Wallet) choose() presented {
	if w.next != nil && (w.held == nil || !w.refused) {
		return presented{api.AgentEnrolling, w.token.Credentials, w.tokenKey}
	}
	p := w.held
	work := presented{p.Role, p.Credentials, p.key}
	ask := presented{api.AgentEnrolling, p.Returning, p.key}
	holds := p.ends.IsZero() || time.Now().Before(p.ends)
	if p.Returning != "" && (!holds || w.refused && w.shown.role != api.AgentEnrolling) {
		return ask
	}
	return work
}

// Auth has a connection show what the wallet holds at the time.
func (w *Wallet) Auth() nats.Option {
	return nats.UserJWT(func() (string, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.shown = w.choose()
		return w.shown.token, nil
	}, func(nonce []byte) ([]byte, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.shown.key.Sign(nonce)
	})
}

// Admitted takes in whether the servers took what was shown last.
func (w *Wallet) Admitted(taken bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused = !taken
}

// role is that of the credentials that the connection was made with.
func (w *Wallet) role() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.shown.role
}

// renewBy is when to ask for credentials; false when there is no need to.
func (w *Wallet) renewBy() (at time.Time, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.next != nil, w.shown.role == api.AgentEnrolling, w.shown.role == api.AgentJoining:
		return time.Time{}, true
	case w.held.ends.IsZero():
		return time.Time{}, false
	}
	return w.held.issued.Add(w.held.ends.Sub(w.held.issued) / 2), true
}
