package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"flotilla/bus"
	"flotilla/configs/private"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nkeys"
)

// Accounts are the keys of the accounts of a fleet on NATS servers in operator mode that others run, from a folder
// that MakeAccounts wrote. Its methods may be called from any goroutine.
type Accounts struct {
	dir   string
	realm *operator
	reach bus.Options // the servers

	revoking sync.Mutex
	crowd    *crowd
	roster   *roster
}

// OpenAccounts reads a folder of accounts; o says how to reach the servers, its credentials are not used. Without
// claims.creds in the folder, or with a public key as operatorSigning in its keys.json, nothing can be revoked.
func OpenAccounts(dir string, o bus.Options) (*Accounts, error) {
	keys, err := readAccountKeys(dir)
	if err != nil {
		return nil, err
	}
	fleet := cmp.Or(o.Fleet, subjects.DefaultFleet)
	if keys.Fleet != fleet {
		return nil, fmt.Errorf("%w: accounts %s: found those of fleet %q, expected those of fleet %q", bus.ErrSetup, dir, keys.Fleet, fleet)
	}
	a := &Accounts{dir: dir, reach: o, crowd: newCrowd(), roster: newRoster()}
	if a.realm, err = newRealm(&keys.seeds, subjects.Fleet{Name: fleet}); err != nil {
		return nil, fmt.Errorf("%w: accounts %s: %s: %w", bus.ErrSetup, dir, keysFile, err)
	}
	return a, nil
}

func readAccountKeys(dir string) (keys accountKeys, err error) {
	text, err := private.Read(filepath.Join(dir, keysFile), maxKeys)
	if errors.Is(err, os.ErrNotExist) {
		return keys, fmt.Errorf("%w: accounts %s: there is no %s in it; `hub accounts --out %s` makes them", bus.ErrSetup, dir, keysFile, dir)
	}
	if err == nil {
		err = json.Unmarshal(text, &keys)
	}
	if err != nil {
		return keys, fmt.Errorf("%w: accounts %s: %w", bus.ErrSetup, dir, err)
	}
	return keys, nil
}

// HubCreds is the path of the creds file of hubs.
func (a *Accounts) HubCreds() string { return filepath.Join(a.dir, hubCredsFile) }

// Issuer mints credentials of agents.
func (a *Accounts) Issuer() *Issuer { return a.realm.issuer() }

// PersonCreds mints the text of a .creds file for a person, see PeopleIssuer.
func (a *Accounts) PersonCreds(person string, role api.Role, life time.Duration) (text []byte, key string, err error) {
	return a.realm.people().PersonCreds(person, role, life)
}

// FirstPerson is the public key of the admin who is there before any other.
func (a *Accounts) FirstPerson() string { return a.realm.public("firstPerson") }

// Revoke refuses a user for ever, as Server.Revoke does: all servers that answer go by it when it returns, those that
// were away learn it from the others. A *NotRevokedError says that the folder does not have what it takes.
func (a *Accounts) Revoke(account, key string) error {
	if !nkeys.IsValidPublicUserKey(key) {
		return fmt.Errorf("revoking %q: expected the public key of a user, which begins with U", key)
	}
	if a.keyOf(account) == "" {
		return fmt.Errorf("revoking %s: there is no account %q", key, account)
	}
	if why := a.powerless(); why != "" {
		return &bus.NotRevokedError{Account: account, Key: key, Why: why}
	}
	a.revoking.Lock()
	defer a.revoking.Unlock()
	return a.push(account, key)
}

// keyOf is the public key of the account of a name, empty when there is none.
func (a *Accounts) keyOf(account string) string {
	for name, key := range map[string]string{
		subjects.AccountHub: "hub", subjects.AccountAgents: "agents", subjects.AccountPeople: "people", subjects.AccountSystem: "system",
	} {
		if name == account {
			return a.realm.public(key)
		}
	}
	return ""
}

// powerless says what is missing to change accounts; empty when nothing is.
func (a *Accounts) powerless() string {
	if _, err := a.realm.keys["operatorSigning"].Seed(); err != nil {
		return keysFile + " in " + a.dir + " has no seed as operatorSigning"
	}
	if _, err := os.Stat(a.claimsCreds()); err != nil {
		return claimsCredsFile + " is not in " + a.dir
	}
	return ""
}

func (a *Accounts) claimsCreds() string { return filepath.Join(a.dir, claimsCredsFile) }
