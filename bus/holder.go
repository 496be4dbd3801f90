package bus

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"flotilla/configs/files"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
)

// ErrSetup says that the options lead nowhere, whatever runs at the other end; the text names the option.
var ErrSetup = errors.New("where to connect")

// ErrDenied says that the server does not let these credentials do it, so that trying again is in vain.
var ErrDenied = errors.New("the server does not permit it")

// holder is whom credentials were made for.
type holder struct {
	name string
	// account is the public key of the account that they were made in.
	account string
	// agent says that they are of a member's agent: signed with the scoped key.
	agent bool
	// publish are the subjects that they may publish to, where they say so themselves.
	publish []string
}

func (h holder) String() string {
	switch {
	case h.agent:
		return "member " + h.name
	case h.name == "":
		return "nobody in particular"
	}
	return "user " + h.name
}

// holderOf reads whom the text of a .creds file was made for.
func holderOf(text []byte) (holder, error) {
	token, err := jwt.ParseDecoratedJWT(text)
	if err != nil {
		return holder{}, err
	}
	claims, err := jwt.DecodeUserClaims(token)
	if err != nil {
		return holder{}, err
	}
	return holder{name: claims.Name, account: AccountOf(claims), agent: roleOf(claims) != "", publish: claims.Pub.Allow}, nil
}

// Account is the public key of the account that the credentials are of which the options lead to; empty where a wallet holds them, or there are
// none.
func (o Options) Account() (string, error) {
	e, err := o.resolve(spared)
	return e.holder.account, err
}

// AccountOf is the public key of the account that a user was made in, by the account itself or by one of its signing keys.
func AccountOf(claims *jwt.UserClaims) string { return cmp.Or(claims.IssuerAccount, claims.Issuer) }

// RoleTag opens the tag of a user that says its role.
const RoleTag = "flotilla-role:"

// roleOf is the role of an agent's credentials, empty for those of others.
func roleOf(claims *jwt.UserClaims) string {
	for _, tag := range claims.Tags {
		if role, ok := strings.CutPrefix(tag, RoleTag); ok {
			return role
		}
	}
	return ""
}

// identity is how a connection proves who it is.
type identity struct {
	holder
	auth nats.Option
}

func credsFile(path string) (identity, error) {
	text, err := files.Read(path, files.Small)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return identity{}, fmt.Errorf("%w: credentials %s: no such file; the hub keeps those of its first admin in <data>/operator.creds, "+
			"people get theirs with `flotilla user add NAME > NAME.creds`, an agent needs none but a token of `flotilla member enrol NAME`", ErrSetup, path)
	case err != nil:
		return identity{}, fmt.Errorf("%w: credentials: %w", ErrSetup, err)
	case len(strings.TrimSpace(string(text))) == 0:
		return identity{}, fmt.Errorf("%w: credentials %s: the file is empty, as when `flotilla user add` failed; make it again", ErrSetup, path)
	}
	of, err := holderOf(text)
	if err != nil {
		return identity{}, fmt.Errorf("%w: credentials %s: found no user JWT and key, expected what `flotilla user add` or nsc writes (%w)", ErrSetup, path, err)
	}
	return identity{of, nats.UserCredentials(path)}, nil
}

// CheckMember is an error when the options lead nowhere, or their credentials are those of another member's agent.
func (o Options) CheckMember(member string) error {
	e, err := o.resolve(guard)
	if err != nil || !e.holder.agent || e.holder.name == member {
		return err
	}
	return fmt.Errorf("%w: these credentials are those of %s, not of member %s: flotilla member enrol %s > %s.token",
		ErrSetup, e.holder, member, member, member)
}

// denied says what the server forbade, and whom.
func (c *Conn) denied(err error) error {
	text := strings.TrimPrefix(err.Error(), nats.ErrPermissionViolation.Error()+": ")
	return fmt.Errorf("%w: %s at %s: these credentials are those of %s", ErrDenied, text, c.url, c.holder)
}
