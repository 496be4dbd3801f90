package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// revocationsFile is kept beside the keys of an embedded server.
const revocationsFile = "revocations.json"

// revocations are the users' keys that an embedded server refuses, by name of their account, with the time of it in
// Unix seconds. They stay for ever: credentials without an end are refused for ever.
type revocations struct {
	path string

	mu   sync.Mutex
	held map[string]jwt.RevocationList
}

func loadRevocations(path string) (*revocations, error) {
	r := &revocations{path: path, held: map[string]jwt.RevocationList{}}
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r.held)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the revoked keys, %s: %w", path, err)
	}
	return r, nil
}

// of is a copy of the keys that an account refuses.
func (r *revocations) of(account string) jwt.RevocationList {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.held[account])
}

// add keeps a key on disk and answers whether it is new.
func (r *revocations) add(account, key string, at time.Time) (added bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, there := r.held[account][key]; there {
		return false, nil
	}
	next := maps.Clone(r.held)
	next[account] = maps.Clone(r.held[account])
	if next[account] == nil {
		next[account] = jwt.RevocationList{}
	}
	next[account][key] = at.Unix()
	text, err := json.MarshalIndent(next, "", "  ")
	if err == nil {
		err = writePrivate(r.path, text)
	}
	if err != nil {
		return false, fmt.Errorf("keeping a revoked key in %s: %w", r.path, err)
	}
	r.held = next
	return true, nil
}

// Revoke refuses a user for ever: connections of the public key (U…) in the account of that name, AGENTS say, are cut
// before it returns, and credentials that were made for the key until now are refused from then on, after restarts
// too. A key that is revoked already stays so.
func (s *Server) Revoke(account, key string) error {
	if !nkeys.IsValidPublicUserKey(key) {
		return fmt.Errorf("revoking %q: expected the public key of a user, which begins with U", key)
	}
	s.revoking.Lock()
	defer s.revoking.Unlock()
	accounts := s.realm.accountClaims()
	at := slices.IndexFunc(accounts, func(c *jwt.AccountClaims) bool { return c.Name == account })
	if at < 0 {
		return fmt.Errorf("revoking %s: there is no account %q", key, account)
	}
	if added, err := s.realm.revoked.add(account, key, time.Now()); err != nil || !added {
		return err
	}
	if err := s.announce(accounts[at]); err != nil {
		return err
	}
	return s.expel(key)
}

// Revoked says that an account refuses a user's public key.
func (s *Server) Revoked(account, key string) bool {
	_, revoked := s.realm.revoked.of(account)[key]
	return revoked
}

// announce has the running server go by the account as it is now.
func (s *Server) announce(claims *jwt.AccountClaims) error {
	token, err := s.realm.signAccount(claims)
	if err != nil {
		return err
	}
	if err := s.nats.AccountResolver().Store(claims.Subject, token); err != nil {
		return fmt.Errorf("account %s: %w", claims.Name, err)
	}
	account, err := s.nats.LookupAccount(claims.Subject)
	if err != nil {
		return fmt.Errorf("account %s: %w", claims.Name, err)
	}
	next, err := jwt.DecodeAccountClaims(token)
	if err != nil {
		return fmt.Errorf("account %s: %w", claims.Name, err)
	}
	s.nats.UpdateAccountClaims(account, next)
	return nil
}

// expel ends connections that showed a key before the server refused it. Of these the server itself cuts who is
// registered, and it registers somebody a moment after it has let them in.
func (s *Server) expel(key string) error {
	open, err := s.nats.Connz(&server.ConnzOptions{Username: true, Limit: math.MaxInt})
	if err != nil {
		return fmt.Errorf("looking for connections of %s: %w", key, err)
	}
	for _, c := range open.Conns {
		user := c.AuthorizedUser
		if shown, err := jwt.DecodeUserClaims(c.JWT); user == "" && err == nil {
			user = shown.Subject
		}
		if user == key {
			_ = s.nats.DisconnectClientByID(c.Cid) // fails when it is gone
		}
	}
	return nil
}
