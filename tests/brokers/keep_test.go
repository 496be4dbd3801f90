package brokers

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"
)

// alone has a server ask the others for accounts so seldom that it never does, and, forgetful, forget those it knew.
func (s *system) alone(name string, forgetful bool) {
	s.Helper()
	path := filepath.Join(filepath.Dir(s.configs[name]), "server.conf")
	text, err := os.ReadFile(path)
	require.NoError(s, err)
	seldom := strings.ReplaceAll(string(text), "\n  interval: 1s", "\n  interval: 600s")
	require.Contains(s, seldom, "interval: 600s")
	require.NoError(s, os.WriteFile(path, []byte(seldom), 0o600))
	found := regexp.MustCompile(`dir: (\S+/accounts)`).FindStringSubmatch(seldom)
	require.Len(s, found, 2)
	if forgetful {
		require.NoError(s, os.RemoveAll(found[1]))
	}
}

// A server that was away while somebody was revoked, or is new, is told by the hub as soon as it is there: it refuses
// them without having asked anybody.
func TestAServerThatComesIsToldWhoIsRevoked(t *testing.T) {
	s := newSystem(t, "n1", "n2", "n3")
	s.whole(t)
	s.hub("hub-1")
	admin := s.client(s.url("n1"), filepath.Join(s.accounts, "operator.creds"), "")
	for name, forgetful := range map[string]bool{"away": false, "new": true} {
		_, creds := s.person(admin, name, s.url("n1"))
		s.stop("n3")
		require.Nil(t, ask[api.UserRevokeResponse](t, admin, api.VerbUserRevoke, api.UserRevokeRequest{Name: name}).Left)
		s.alone("n3", forgetful)
		s.start("n3")
		began := elsewhen.Now()
		bustest.EventuallyIn(t, 30*time.Second, func() error {
			nc, err := nats.Connect(s.url("n3"), nats.UserCredentialBytes([]byte(creds)), nats.CustomInboxPrefix(subjects.PersonInbox(name)))
			if err == nil {
				nc.Close()
				return errors.New("n3 takes who was revoked while it was " + name)
			}
			if !errors.Is(err, nats.ErrAuthorization) {
				return err
			}
			return nil
		})
		t.Logf("%s: refused %s after it was ready", name, elsewhen.Since(began))
	}
}

// claims are those that servers have of an account, changed and pushed where change is not nil.
func (s *system) claims(account string, change func(*jwt.AccountClaims)) *jwt.AccountClaims {
	s.Helper()
	var keys map[string]string
	text, err := os.ReadFile(filepath.Join(s.accounts, "keys.json"))
	require.NoError(s, err)
	require.NoError(s, json.Unmarshal(text, &keys))
	nc, err := nats.Connect(s.url(), nats.UserCredentials(filepath.Join(s.accounts, "claims.creds")), nats.CustomInboxPrefix(subjects.Inbox(subjects.ClaimsUser)))
	require.NoError(s, err)
	defer nc.Close()
	public := keys[account]
	if pair, err := nkeys.FromSeed([]byte(public)); err == nil {
		public, err = pair.PublicKey()
		require.NoError(s, err)
	}
	answer, err := nc.Request(subjects.LookUpAccount(public), nil, 10*time.Second)
	require.NoError(s, err)
	found, err := jwt.DecodeAccountClaims(string(answer.Data))
	require.NoError(s, err)
	if change != nil {
		change(found)
		signing, err := nkeys.FromSeed([]byte(keys["operatorSigning"]))
		require.NoError(s, err)
		token, err := found.Encode(signing)
		require.NoError(s, err)
		_, err = nc.Request(subjects.PushAccount, []byte(token), 10*time.Second)
		require.NoError(s, err)
	}
	return found
}

// Servers that were given accounts by another build go by those of the hub that leads, which keeps what others changed
// of them beyond that.
func TestServersFollowTheAddressBook(t *testing.T) {
	s := newSystem(t, "single")
	f := subjects.Fleet{Name: fleetName}
	scope := func(c *jwt.AccountClaims) jwt.Scope {
		for _, scope := range c.SigningKeys {
			if of, is := scope.(*jwt.UserScope); is && of.Role == subjects.RoleAgent {
				return scope
			}
		}
		return nil
	}
	whole := s.claims("agents", nil)
	former := s.claims("agents", func(c *jwt.AccountClaims) {
		c.Imports = c.Imports[1:]
		scope(c).(*jwt.UserScope).Template.Pub.Allow = jwt.StringList{"anything"}
		c.Limits.Conn = 1000
	})
	require.Len(t, former.Imports, len(f.Exports())-1)
	s.hub("hub-1")
	bustest.EventuallyIn(t, 30*time.Second, func() error {
		found := s.claims("agents", nil)
		if len(found.Imports) != len(f.Exports()) {
			return errors.New("the servers have the imports of another build")
		}
		require.Equal(t, scope(whole).(*jwt.UserScope).Template, scope(found).(*jwt.UserScope).Template)
		require.EqualValues(t, 1000, found.Limits.Conn)
		return nil
	})
	admin := s.admin()
	s.join(admin, "oslo", s.url())
	s.placed(admin, 1, 1)
}
