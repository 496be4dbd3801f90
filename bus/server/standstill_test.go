package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"flotilla/bus"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

// A store that could not write, for whatever reason, works again after a restart once the reason is over. One that could not be read
// does not, and one whose files are gone would begin without them.
func TestEveryWriteErrorOfAStoreIsOneThatARestartMends(t *testing.T) {
	stream := func(format string, err error) server.HealthzError {
		return server.HealthzError{Type: server.HealthzErrorStream, Error: fmt.Sprintf(format, err)}
	}
	const writing, reading = "JetStream stream 'HUB > KV_flotilla_default_lease' write error: %v", "JetStream stream 'HUB > AUDIT' could not be recovered (%v)"
	for _, err := range []error{
		syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EMFILE, syscall.ENFILE, syscall.EIO, syscall.EROFS, syscall.ENOMEM, syscall.EACCES,
		errors.New("an error that nobody has thought of"),
	} {
		found := stream(writing, err)
		require.Equal(t, &Standstill{Reason: found.Error, Restart: true}, standstill([]server.HealthzError{found}))
	}
	off := server.HealthzError{Type: server.HealthzErrorJetStream, Error: "JetStream not enabled"}
	require.Equal(t, &Standstill{Reason: off.Error, Restart: true}, standstill([]server.HealthzError{off}))

	unreadable, away := stream(reading, syscall.EIO), stream(writing, &os.PathError{Op: "open", Path: "1.blk", Err: syscall.ENOENT})
	for _, found := range []server.HealthzError{unreadable, away, {Type: server.HealthzErrorConn, Error: "not ready"}} {
		require.Equal(t, &Standstill{Reason: found.Error}, standstill([]server.HealthzError{found}))
	}
	require.True(t, standstill([]server.HealthzError{unreadable, stream(writing, syscall.EMFILE)}).Restart, "whichever comes first")
	require.Nil(t, standstill(nil))
}

// A server whose volume is not mounted any more would begin an empty fleet on what lies beneath.
func TestAServerIsNotRestartedWhereItsStreamsAreGone(t *testing.T) {
	dir := t.TempDir()
	s, err := Start(Options{Dir: dir, Port: -1, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(s.Shutdown)
	streams, elsewhere := filepath.Join(dir, streamsFolder), filepath.Join(dir, "elsewhere")
	require.NoError(t, os.Rename(streams, elsewhere))
	require.ErrorContains(t, s.Restart(), "found no folder streams in "+dir)
	require.NoDirExists(t, streams)
	require.NoError(t, os.Rename(elsewhere, streams))
	require.NoError(t, s.Restart())
	require.Nil(t, s.Standstill())
}

// A server says of a stream that is being made what it says of one that it could not read when it started. Only the latter is no more.
func TestAStreamThatIsBeingMadeIsNoStandstill(t *testing.T) {
	unread := server.HealthzError{Type: server.HealthzErrorStream, Error: "JetStream stream 'HUB > AUDIT' could not be recovered"}
	beingMade := server.HealthzError{Type: server.HealthzErrorStream, Error: "JetStream stream 'HUB > KV_flotilla_default_state' could not be recovered"}
	failed := server.HealthzError{Type: server.HealthzErrorStream, Error: "JetStream stream 'HUB > KV_flotilla_default_state' write error: no space left on device"}
	s := &Server{unread: map[string]bool{unread.Error: true}}
	require.Empty(t, s.settled([]server.HealthzError{beingMade}))
	require.Equal(t, []server.HealthzError{unread, failed}, s.settled([]server.HealthzError{beingMade, unread, failed}))
}

// A stream whose folder cannot be read when a server starts is told for as long as the server runs.
func TestAStreamThatCouldNotBeReadIsTold(t *testing.T) {
	dir := t.TempDir()
	s, err := Start(Options{Dir: dir, Port: -1, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(s.Shutdown)
	conn, err := bus.ConnectHub(t.Context(), bus.Options{Server: s, Log: zerolog.Nop()})
	require.NoError(t, err)
	_, err = conn.JS.CreateStream(t.Context(), jetstream.StreamConfig{Name: "KV_flotilla_default_lost", Subjects: []string{"$KV.flotilla_default_lost.>"}})
	require.NoError(t, err)
	conn.Close()
	require.Nil(t, s.Standstill())
	metas, err := filepath.Glob(filepath.Join(dir, streamsFolder, "jetstream", "*", "streams", "*", "meta.inf"))
	require.NoError(t, err)
	require.Len(t, metas, 1)
	require.NoError(t, os.WriteFile(metas[0], []byte("{"), 0o600))
	require.NoError(t, s.Restart())
	found := s.Standstill()
	require.NotNil(t, found)
	require.Contains(t, found.Reason, "could not be recovered")
	require.False(t, found.Restart)
}
