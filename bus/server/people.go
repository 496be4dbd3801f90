package server

import (
	"errors"
	"fmt"
	"os"
	"time"

	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
)

// peopleAccount has no JetStream: inside HUB the reply subject of a request would be written to by whoever
// answers, and answers to others could be read.
func (r *operator) peopleAccount() *jwt.AccountClaims {
	a := jwt.NewAccountClaims(r.public("people"))
	a.Name = subjects.AccountPeople
	a.Limits.Conn, a.Limits.Subs = int64(r.most[subjects.AccountPeople]), PersonSubscriptions
	for _, e := range r.fleet.PeopleExports() {
		a.Imports.Add(&jwt.Import{
			Name: e.Name, Account: r.public("hub"), Type: exportType(e), Share: e.Tells,
			Subject: jwt.Subject(e.Subject), LocalSubject: jwt.RenamingSubject(e.Subject),
		})
	}
	a.SigningKeys.Add(r.public("peopleSigning"))
	return a
}

// writeFirstPerson writes the creds of the admin who is there before any other, unless they were revoked.
func (r *operator) writeFirstPerson(path string) error {
	if _, revoked := r.revoked.of(subjects.AccountPeople)[r.public("firstPerson")]; revoked {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := r.people().creds(r.keys["firstPerson"], subjects.FirstPerson, api.RoleAdmin, 0)
	if err != nil {
		return err
	}
	return writePrivate(path, text)
}

func (r *operator) people() *PeopleIssuer {
	return &PeopleIssuer{fleet: r.fleet, account: r.public("people"), signing: r.keys["peopleSigning"]}
}

// PeopleIssuer mints credentials of people with a signing key of the account PEOPLE. They give each person
// exactly subjects.Fleet.PersonPermissions.
type PeopleIssuer struct {
	fleet   subjects.Fleet
	account string
	signing nkeys.KeyPair
}

// PersonCreds mints the text of a .creds file for a person, with a new key each time, and returns the public
// key too. They hold for a life, for ever when 0.
func (i *PeopleIssuer) PersonCreds(person string, role api.Role, life time.Duration) (text []byte, key string, err error) {
	if err := api.CheckUser(person); err != nil {
		return nil, "", err
	}
	user, err := nkeys.CreateUser()
	if err != nil {
		return nil, "", err
	}
	if key, err = user.PublicKey(); err != nil {
		return nil, "", err
	}
	text, err = i.creds(user, person, role, life)
	return text, key, err
}

func (i *PeopleIssuer) creds(user nkeys.KeyPair, person string, role api.Role, life time.Duration) ([]byte, error) {
	key, err := user.PublicKey()
	if err != nil {
		return nil, err
	}
	claims := jwt.NewUserClaims(key)
	claims.Name = person
	claims.IssuerAccount = i.account
	claims.Subs = PersonSubscriptions
	claims.AllowedConnectionTypes = clients()
	if life > 0 {
		claims.Expires = time.Now().Add(life).Unix()
	}
	permit(&claims.Permissions, i.fleet.PersonPermissions(person, role))
	token, err := claims.Encode(i.signing)
	if err != nil {
		return nil, fmt.Errorf("signing the credentials of %s: %w", person, err)
	}
	return credsText(token, user)
}

// PersonCreds mints the text of a .creds file for a person, see PeopleIssuer.
func (s *Server) PersonCreds(person string, role api.Role, life time.Duration) (text []byte, key string, err error) {
	return s.realm.people().PersonCreds(person, role, life)
}

// FirstPerson is the public key of the admin who is there before any other.
func (s *Server) FirstPerson() string { return s.realm.public("firstPerson") }
