package server

import (
	"fmt"
	"time"

	"flotilla/bus"
	"flotilla/subjects"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// Issuer signs credentials of agents with the signing keys of account AGENTS. The key of a role gives each user
// exactly subjects.Fleet.RolePermissions of its name.
type Issuer struct {
	account string
	keys    map[string]nkeys.KeyPair // by role
	// fleet is set where the keys are not scoped: then permissions stand in the credentials.
	fleet *subjects.Fleet
}

// NewIssuer makes an issuer from the public key of the account and the seed of a signing key of it that is not
// scoped; for hubs on servers that others run.
func NewIssuer(fleet subjects.Fleet, account string, seed []byte) (*Issuer, error) {
	if !nkeys.IsValidPublicAccountKey(account) {
		return nil, fmt.Errorf("account %q: expected the public key of an account, which begins with A", account)
	}
	signing, err := nkeys.FromSeed(seed)
	if err != nil {
		return nil, fmt.Errorf("seed of the signing key: %w", err)
	}
	keys := map[string]nkeys.KeyPair{}
	for _, role := range subjects.AgentRoles() {
		keys[role] = signing
	}
	return &Issuer{account: account, keys: keys, fleet: &fleet}, nil
}

// Sign makes the JWT of a role for whoever holds the user key (U…) of a member's agent. It ends after life, or never
// when that is 0; ends is to the second, by the clock of the machine, as servers judge it.
func (i *Issuer) Sign(role, member, key string, life time.Duration) (token string, ends time.Time, err error) {
	if err := subjects.CheckLabel("member", member); err != nil {
		return "", ends, err
	}
	claims := jwt.NewUserClaims(key)
	claims.Name = member
	claims.IssuerAccount = i.account
	claims.Tags.Add(bus.RoleTag + role)
	if i.fleet == nil {
		claims.SetScoped(true)
	} else {
		permit(&claims.Permissions, i.fleet.RolePermissions(role, member))
		claims.Subs = AgentSubscriptions
	}
	if life > 0 {
		ends = time.Now().Add(life).Truncate(time.Second)
		claims.Expires = ends.Unix()
	}
	if token, err = claims.Encode(i.keys[role]); err != nil {
		return "", ends, fmt.Errorf("signing the credentials of %s: %w", member, err)
	}
	return token, ends, nil
}

// Token makes a key that may ask to enrol as a member until life has passed: its seed, its public part, and its
// user JWT.
func (i *Issuer) Token(member string, life time.Duration) (seed, key, token string, err error) {
	if seed, key, err = bus.NewTokenKey(); err != nil {
		return "", "", "", err
	}
	token, _, err = i.Sign(subjects.RoleEnrolling, member, key, life)
	return seed, key, token, err
}
