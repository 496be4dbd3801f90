// Package bustest starts real NATS servers in the test process, connects to them, and waits for
// conditions. All tests of bus and of the rooms call it; nothing else does. Whatever it starts is
// stopped at the end of the test.
package bustest

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"flotilla/bus"
	"flotilla/bus/member"
	"flotilla/bus/reads"
	"flotilla/bus/server"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/seal"
	"flotilla/subjects"
	"flotilla/tests/elsewhen"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// Fleet is the name of the fleet of test servers.
const Fleet = "test"

// Server is an embedded server on a temporary directory.
type Server struct {
	*server.Server
	options server.Options
	log     *journal
	wallets wallets
	// Reads answers what agents read, as hubs do.
	Reads *reads.Reader
}

// Start starts a server on any free port. Options may change how.
func Start(t testing.TB, change ...func(*server.Options)) *Server {
	t.Helper()
	log := newJournal(t)
	s := &Server{log: log, options: server.Options{Dir: t.TempDir(), Port: -1, Fleet: Fleet, Log: log.logger()}}
	for _, f := range change {
		f(&s.options)
	}
	s.start(t)
	t.Cleanup(func() { s.Shutdown() })
	s.answerReads(t)
	return s
}

func (s *Server) start(t testing.TB) {
	t.Helper()
	var err error
	s.Server, err = server.Start(s.options)
	require.NoError(t, err)
	at, err := url.Parse(s.URL())
	require.NoError(t, err)
	s.options.Port, err = strconv.Atoi(at.Port())
	require.NoError(t, err)
}

// Stop stops the server; Restart starts it again.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	s.Shutdown()
}

// Restart stops the server and starts it again on the same directory and port.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Shutdown()
	s.start(t)
}

// Dir is the data folder of the server.
func (s *Server) Dir() string { return s.options.Dir }

// Copied starts a server on a copy of the data of this one as they are now, which is what a kill leaves.
// Change is given the folder of the copy before the server starts.
func (s *Server) Copied(t testing.TB, change func(dir string)) *Server {
	t.Helper()
	dir := t.TempDir()
	CopyFolder(t, dir, s.options.Dir)
	change(dir)
	return Start(t, func(o *server.Options) { o.Dir, o.Fleet = dir, s.options.Fleet })
}

// Log is what is shown when the test failed.
func (s *Server) Log() zerolog.Logger { return s.log.logger() }

// Options are bus options for a connection in process. Such a connection does not survive Restart.
func (s *Server) Options() bus.Options {
	return bus.Options{Fleet: s.options.Fleet, Server: s.Server, Log: s.log.logger(), Now: elsewhen.Now}
}

// TCP are bus options for a connection over TCP with the hub's creds; it survives Restart.
func (s *Server) TCP() bus.Options {
	return bus.Options{Fleet: s.options.Fleet, URL: s.URL(), Creds: s.HubCreds(), Log: s.log.logger(), Now: elsewhen.Now}
}

// Hub connects as a hub, over TCP.
func (s *Server) Hub(t testing.TB) *bus.Conn {
	t.Helper()
	c, err := bus.ConnectHub(Context(t), s.TCP())
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// Client connects as the first admin, over TCP.
func (s *Server) Client(t testing.TB) *bus.Conn { return s.client(t, s.OperatorCreds(), nil) }

// Inspector connects as whoever looks at streams, over TCP.
func (s *Server) Inspector(t testing.TB) *bus.Conn { return s.client(t, s.InspectorCreds(), nil) }

// Person connects as a person of a role, over TCP, with credentials of their own.
func (s *Server) Person(t testing.TB, name string, role api.Role) *bus.Conn {
	t.Helper()
	creds, _, err := s.PersonCreds(name, role, 0)
	require.NoError(t, err)
	return s.client(t, "", creds)
}

func (s *Server) client(t testing.TB, creds string, text []byte) *bus.Conn {
	t.Helper()
	o := s.TCP()
	o.Creds, o.CredsText = creds, text
	c, err := bus.ConnectClient(Context(t), o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// Agent connects as the agent of a member, over TCP, and waits until it is connected.
func (s *Server) Agent(t testing.TB, name string) *member.Conn {
	t.Helper()
	a, err := member.Connect(Context(t), s.AgentOptions(t, name), name)
	require.NoError(t, err)
	t.Cleanup(a.Close)
	Eventually(t, func() error {
		if !a.Connected() {
			return errors.New("the agent is not connected")
		}
		return nil
	})
	return a
}

// AgentOptions are bus options for the agent of a member, over TCP, with its own creds; it reconnects
// sooner than one in production.
func (s *Server) AgentOptions(t testing.TB, member string) bus.Options {
	t.Helper()
	o := s.TCP()
	o.Creds, o.CredsText, o.Wallet = "", AgentCreds(t, s.Server, member), s.wallets.of(t, member)
	o.Reconnect = bus.Reconnect{Wait: 50 * time.Millisecond, Jitter: 50 * time.Millisecond}
	return o
}

// ReadAnew answers what agents read by a hub that has read nothing yet.
func (s *Server) ReadAnew(t testing.TB) {
	t.Helper()
	s.Reads.Stop()
	s.answerReads(t)
}

// answerReads answers what agents read, as long as the server is there.
func (s *Server) answerReads(t testing.TB) {
	t.Helper()
	o := s.TCP()
	o.CA = s.CAFile()
	var err error
	s.Reads, err = reads.Serve(Context(t), o, nil)
	require.NoError(t, err)
	t.Cleanup(s.Reads.Stop)
}

// Alone is an agent whose hub is away, and stays so.
func Alone(t testing.TB, name string) *member.Conn {
	t.Helper()
	a, err := member.Connect(Context(t), bus.Options{Fleet: Fleet, URL: "nats://127.0.0.1:1", Getenv: func(string) string { return "" }}, name)
	require.NoError(t, err)
	t.Cleanup(a.Close)
	return a
}

// AgentCreds are the text of a .creds file for an agent that works, with a key that the hub knows nothing of.
func AgentCreds(t testing.TB, server *server.Server, member string) []byte {
	t.Helper()
	user, err := nkeys.CreateUser()
	require.NoError(t, err)
	key, err := user.PublicKey()
	require.NoError(t, err)
	token, _, err := server.Issuer().Sign(subjects.RoleAgent, member, key, 0)
	require.NoError(t, err)
	seed, err := user.Seed()
	require.NoError(t, err)
	text, err := jwt.FormatUserConfig(token, seed)
	require.NoError(t, err)
	return text
}

// Lead makes the layout, takes the lease as "hub-test" over TCP and returns a synced store. The lease
// is given up at the end of the test.
func (s *Server) Lead(t testing.TB) *store.Store {
	t.Helper()
	return Lead(t, s.Hub(t), "hub-test", store.LeadOptions{})
}

// Secrets are those of test fleets, as they stand in a file.
const Secrets = `{"kind":"Secrets","version":1,"digests":"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=","content":["AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="]}`

// SecretsFile is a file of Secrets.
func SecretsFile(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secrets.json")
	require.NoError(t, os.WriteFile(path, []byte(Secrets), 0o600))
	return path
}

// Keys are what Secrets holds.
func Keys() *seal.Keyring {
	return &seal.Keyring{Digests: bytes.Repeat([]byte{1}, seal.KeyBytes), Content: [][]byte{bytes.Repeat([]byte{2}, seal.KeyBytes)}}
}

// ReadKeys are Keys, as hubs read theirs.
func ReadKeys() (*seal.Keyring, error) { return Keys(), nil }

// Put stores a body with the secrets of a store and returns its digest.
func Put(t testing.TB, s *store.Store, body []byte) string {
	t.Helper()
	digest := s.Keys.Digest(body)
	require.NoError(t, s.Content.Put(Context(t), digest, body))
	return digest
}

// PutWork stores the work of manifests, in a bundle with those of their bodies that are stored, and returns its digest.
func PutWork(t testing.TB, s *store.Store, manifests []api.Manifest) string {
	t.Helper()
	plan := content.Plan{Keys: s.Keys, Limit: s.Content.BundleLimit(), Size: func(api.Manifest) int { return 0 }}
	bundles, err := plan.Bundles(manifests)
	require.NoError(t, err)
	require.Len(t, bundles, 1)
	require.NoError(t, s.Content.PutBundle(Context(t), bundles[0].Digest, &bundles[0].Work, nil))
	return bundles[0].Digest
}

// Lead takes the lease as id and returns the store; it leads until the end of the test, or until the
// lease is lost.
func Lead(t testing.TB, c *bus.Conn, id string, o store.LeadOptions) *store.Store {
	t.Helper()
	if o.Secrets == nil {
		o.Secrets = ReadKeys
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	stores := make(chan *store.Store)
	ended := make(chan error, 1)
	var running sync.WaitGroup
	running.Go(func() {
		ended <- store.Lead(ctx, c, id, o, func(leading context.Context, s *store.Store) error {
			select {
			case stores <- s:
				<-leading.Done()
				cancel() // or it would compete with whom a test lets lead next, under the same name
			case <-leading.Done():
			}
			return nil
		})
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	select {
	case s := <-stores:
		return s
	case err := <-ended:
		require.NoError(t, err)
	case <-Context(t).Done():
	}
	require.FailNow(t, id+" did not come to lead")
	return nil
}

// Context ends with the test, and after a minute.
func Context(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// journal keeps the log of a test and shows it when the test failed; with FLOTILLA_TEST_LOG=1 it is
// written to standard error at once.
type journal struct {
	mu    sync.Mutex
	lines []byte
}

func newJournal(t testing.TB) *journal {
	j := &journal{}
	t.Cleanup(func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		if t.Failed() {
			t.Logf("log:\n%s", j.lines)
		}
	})
	return j
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if os.Getenv("FLOTILLA_TEST_LOG") != "" {
		return os.Stderr.Write(line)
	}
	j.lines = append(j.lines, line...)
	return len(line), nil
}

func (j *journal) logger() zerolog.Logger {
	return zerolog.New(j).Level(zerolog.InfoLevel).With().Timestamp().Logger()
}
