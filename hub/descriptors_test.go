package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"flotilla/bus"
	"flotilla/bus/bustest"
	"flotilla/core/api"
	"flotilla/core/health"
	"flotilla/subjects"
)

// lives is nil once somebody who comes now is told that the hub lives.
func (s *small) lives() error {
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://127.0.0.1:" + s.metrics + "/healthz")
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// says waits until the status names a problem of connections.
func (s *small) says(text string) {
	s.Helper()
	bustest.Eventually(s, func() error {
		var status api.FleetStatus
		if err := bus.Request(s.Context(), s.client, api.VerbStatus, nil, &status, bus.RequestOptions{Total: 5 * time.Second}); err != nil {
			return err
		}
		for i := range status.Problems {
			if p := &status.Problems[i]; p.Reason == health.ReasonConnections && strings.Contains(p.Object+" "+p.Message, text) {
				return s.Says(p.Message)
			}
		}
		return fmt.Errorf("no problem says %q: %+v", text, status.Problems)
	})
}

// silent opens connections of nobody.
func (s *small) silent(count int) (closeAll func()) {
	return bustest.Silent(s, "127.0.0.1:"+s.port, count)
}

// asking opens connections that ask whether the hub lives, and stay.
func (s *small) asking(count int) (closeAll func()) {
	var all []net.Conn
	for range count {
		conn, err := net.DialTimeout("tcp", "127.0.0.1:"+s.metrics, 10*time.Second)
		require.NoError(s, err)
		s.Cleanup(func() { _ = conn.Close() })
		_, err = fmt.Fprint(conn, "GET /healthz HTTP/1.1\r\nHost: hub\r\n\r\n")
		require.NoError(s, err)
		all = append(all, conn)
	}
	return func() {
		for _, conn := range all {
			_ = conn.Close()
		}
	}
}

// answers asks the way of metrics and health for something, over a connection of its own.
func (s *small) answers(path string) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	answer, err := client.Get("http://127.0.0.1:" + s.metrics + path)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		err = errors.New(answer.Status)
	}
	return errors.Join(err, answer.Body.Close())
}

// agents opens connections with the credentials of the agent of one member, which come back as often as they are cut.
func (s *small) agents(count int) (closeAll func()) {
	token, user := s.credentials("mallory")
	var all []*nats.Conn
	for range count {
		nc, err := nats.Connect("nats://127.0.0.1:"+s.port, nats.CustomInboxPrefix(subjects.Inbox("mallory")), nats.RetryOnFailedConnect(true),
			nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort(), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
			nats.UserJWT(func() (string, error) { return token, nil }, user.Sign))
		require.NoError(s, err)
		s.Cleanup(nc.Close)
		all = append(all, nc)
	}
	return func() {
		for _, nc := range all {
			nc.Close()
		}
	}
}

// credentials are those of the agent of a member, made with the keys of the hub's folder.
func (s *small) credentials(member string) (token string, user nkeys.KeyPair) {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(s.data, "keys.json"))
	require.NoError(s, err)
	var seeds struct{ Agents, Signing string }
	require.NoError(s, json.Unmarshal(text, &seeds))
	account, err := nkeys.FromSeed([]byte(seeds.Agents))
	require.NoError(s, err)
	signing, err := nkeys.FromSeed([]byte(seeds.Signing))
	require.NoError(s, err)
	user, err = nkeys.CreateUser()
	require.NoError(s, err)
	key, err := user.PublicKey()
	require.NoError(s, err)
	claims := jwt.NewUserClaims(key)
	claims.Name = member
	claims.IssuerAccount, err = account.PublicKey()
	require.NoError(s, err)
	claims.SetScoped(true)
	token, err = claims.Encode(signing)
	require.NoError(s, err)
	return token, user
}

// Five hundred connections to a hub that may have four hundred descriptors: it goes on storing and leading, says what is full and who
// holds most, and is there for others once they are gone.
func TestConnectionsLeaveDescriptorsForFiles(t *testing.T) {
	const limits, connections = "ulimit -n 400", 500
	for whose, row := range map[string]struct {
		open func(*small, int) (closeAll func())
		says string
		// lacks is set where the server of NATS takes connections a moment before they are refused or cut: all of a burst, then. Where
		// that leaves nothing for a file, the hub starts its server anew.
		lacks bool
	}{
		"nobody's":    {(*small).silent, "the NATS server: 200 connections are open", true},
		"of an agent": {(*small).agents, "member/mallory opens more than 4 connections at once", true},
		"for metrics": {(*small).asking, "metrics and health: 20 connections are open", false},
	} {
		t.Run(whose, func(t *testing.T) {
			s := startSmall(t, limits)
			require.NoError(t, s.Says("connections are bounded"))
			closeAll := row.open(s, connections)
			s.says(row.says)
			if !row.lacks {
				// Whoever comes is let in (H47), from a network that makes others lose their places a second later.
				bustest.EventuallyIn(t, 2*time.Second, func() error { return s.answers("/healthz") })
			}
			patience := time.Duration(0)
			if row.lacks {
				patience = 30 * time.Second
			}
			for range 50 {
				bustest.EventuallyIn(t, patience, func() error { return s.apply(10 << 10) })
			}
			closeAll()
			bustest.EventuallyIn(t, 10*time.Second, func() error { return errors.Join(s.lives(), s.apply(10<<10)) })
			if !row.lacks {
				require.Error(t, s.Says("too many open files"), "no descriptor was lacking")
			}
		})
	}
}

// A hub may have as many descriptors as the system lets it, whatever the shell had set for programs that cannot do with many.
func TestAHubRaisesItsLimitOfDescriptors(t *testing.T) {
	s := startSmall(t, "ulimit -S -n 100 && ulimit -H -n 500")
	require.NoError(t, s.Says("499"))
}
