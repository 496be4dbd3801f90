package brokers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"flotilla/bus/bustest"
	"flotilla/bus/server"
	"flotilla/core/api"
	"flotilla/subjects"
)

// ear hears what servers are told of accounts.
type ear struct {
	mu     sync.Mutex
	tokens []string
}

// unbound connects as a user of an account who may do everything in it.
func (s *system) unbound(account, url string) *nats.Conn {
	s.Helper()
	seed, err := os.ReadFile(filepath.Join(s.accounts, "offline", account+".nk"))
	require.NoError(s, err)
	signer, err := nkeys.FromSeed([]byte(strings.TrimSpace(string(seed))))
	require.NoError(s, err)
	user, err := nkeys.CreateUser()
	require.NoError(s, err)
	key, err := user.PublicKey()
	require.NoError(s, err)
	token, err := jwt.NewUserClaims(key).Encode(signer)
	require.NoError(s, err)
	nc, err := nats.Connect(url, nats.UserJWT(func() (string, error) { return token, nil }, user.Sign))
	require.NoError(s, err)
	s.Cleanup(nc.Close)
	return nc
}

func (s *system) listen(url string) *ear {
	s.Helper()
	nc, e := s.unbound(subjects.AccountSystem, url), &ear{}
	_, err := nc.Subscribe(subjects.PushAccount, func(m *nats.Msg) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.tokens = append(e.tokens, string(m.Data))
	})
	require.NoError(s, err)
	require.NoError(s, nc.Flush())
	return e
}

// refusing counts the different claims heard so far that refuse a key.
func (e *ear) refusing(key string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	var different []string
	for _, token := range e.tokens {
		claims, err := jwt.DecodeAccountClaims(token)
		if err != nil || slices.Contains(different, token) {
			continue
		}
		if _, refused := claims.Revocations[key]; refused {
			different = append(different, token)
		}
	}
	return len(different)
}

// atLeast waits until some more claims were heard that refuse a key.
func (e *ear) atLeast(t *testing.T, more int, key, when string) {
	t.Helper()
	want := e.refusing(key) + more
	bustest.EventuallyIn(t, 30*time.Second, func() error {
		if n := e.refusing(key); n < want {
			return fmt.Errorf("%s: servers were told by %d different claims, expected %d", when, n, want)
		}
		return nil
	})
}

// A server that takes claims may let somebody in at the same moment whom they refuse, and cuts them by the next ones.
// Those that it has already it does not look at.
func TestServersAreToldTwiceWhoIsRevoked(t *testing.T) {
	s := newSystem(t, "n1", "n2", "n3")
	s.whole(t)
	heard := s.listen(s.url("n1"))
	accounts, err := server.OpenAccounts(s.accounts, s.reach(s.url(), "", ""))
	require.NoError(t, err)
	key := keyOf(t, s.agentCreds(t, "oslo"))
	require.NoError(t, accounts.Revoke(subjects.AccountAgents, key))
	require.Equal(t, 2, heard.refusing(key))

	s.hub("hub-1")
	heard.atLeast(t, 1, key, "a hub leads that was not there when they were told")
	s.stop("n2")
	s.start("n2")
	heard.atLeast(t, 1, key, "n2 is back, and may have learned it by itself")
}

// Claims without a key that is refused, as another hub or a person may push them who looked at an older account, do not
// let it in again.
func TestOlderClaimsDoNotUndoWhatWasRevoked(t *testing.T) {
	s := newSystem(t, "single")
	s.hub("hub-1")
	admin := s.admin()
	anna, creds := s.person(admin, "anna", s.url())
	before := s.claims("people", nil)
	require.Nil(t, ask[api.UserRevokeResponse](t, admin, api.VerbUserRevoke, api.UserRevokeRequest{Name: "anna"}).Left)
	cut(t, anna)
	refused(t, s, s.url(), creds)

	for range 3 { // the hub may look after the servers for other reasons, once
		s.claims("people", func(c *jwt.AccountClaims) { c.Revocations = before.Revocations })
		bustest.EventuallyIn(t, 15*time.Second, func() error {
			if s.claims("people", nil).Revocations[keyOf(t, creds)] == 0 {
				return errors.New("the server has the older claims")
			}
			return nil
		})
	}
	cut(t, anna)
	refused(t, s, s.url(), creds)
}
