package bus

import (
	"fmt"

	"flotilla/subjects"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// Issuer mints credentials of agents with a scoped signing key of the account AGENTS. The key gives
// each user exactly subjects.Fleet.AgentPermissions of its name.
type Issuer struct {
	account string
	signing nkeys.KeyPair
}

// NewIssuer makes an issuer from the public key of the account and the seed of its signing key; for
// hubs on an external server.
func NewIssuer(account string, seed []byte) (*Issuer, error) {
	if !nkeys.IsValidPublicAccountKey(account) {
		return nil, fmt.Errorf("account %q: expected the public key of an account, which begins with A", account)
	}
	signing, err := nkeys.FromSeed(seed)
	if err != nil {
		return nil, fmt.Errorf("seed of the signing key: %w", err)
	}
	return &Issuer{account: account, signing: signing}, nil
}

// AgentCreds mints the text of a .creds file for a member's agent, with a new key each time.
func (i *Issuer) AgentCreds(member string) ([]byte, error) {
	if err := subjects.CheckLabel("member", member); err != nil {
		return nil, err
	}
	user, err := nkeys.CreateUser()
	if err != nil {
		return nil, err
	}
	public, err := user.PublicKey()
	if err != nil {
		return nil, err
	}
	claims := jwt.NewUserClaims(public)
	claims.Name = member
	claims.IssuerAccount = i.account
	claims.SetScoped(true)
	token, err := claims.Encode(i.signing)
	if err != nil {
		return nil, fmt.Errorf("signing the credentials of %s: %w", member, err)
	}
	return credsText(token, user)
}
