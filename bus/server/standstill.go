package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/nats-io/nats-server/v2/server"
)

// Standstill is why an embedded server stores nothing any more.
type Standstill struct {
	Reason string
	// Restart is set where a restart mends it, once its folder can be written.
	Restart bool
}

// writeError stands in what a server says of a stream whose store could not write; the server hands on no more than text.
const writeError = " write error: "

// gone is the text of the error of a file that is not there: a server that starts makes it anew, and what it held is lost without a word.
var gone = syscall.ENOENT.Error()

// Standstill looks whether the server still stores what it is sent. A file store keeps its first write error, of whatever, until
// the server is restarted, and for some errors a server turns JetStream off.
func (s *Server) Standstill() *Standstill {
	folder, err := os.Open(s.o.Dir) // without a descriptor the server cannot look after its streams, and finds them well
	if err != nil {
		return &Standstill{Reason: err.Error(), Restart: !errors.Is(err, fs.ErrNotExist)}
	}
	_ = folder.Close() // it was only opened
	return standstill(s.settled(s.health()))
}

func (s *Server) health() []server.HealthzError {
	return s.running().Healthz(&server.HealthzOptions{Details: true}).Errors
}

// settled are errors of health without those of streams that are being made: a server makes the folder of a stream first, and says of it
// until the stream is there what it says of one that could not be read when it started. Those were there then.
func (s *Server) settled(found []server.HealthzError) []server.HealthzError {
	return slices.DeleteFunc(found, func(e server.HealthzError) bool {
		return e.Type == server.HealthzErrorStream && strings.Contains(e.Error, unrecovered) && !s.wasUnread(e.Error)
	})
}

// wasUnread says that the server said so when it started.
func (s *Server) wasUnread(text string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.unread[text]
}

// unrecovered stands in what a server says of a stream that it has a folder of, and no more.
const unrecovered = " could not be recovered"

// standstill is what errors of health come to; one that a restart mends comes first.
func standstill(found []server.HealthzError) *Standstill {
	var worst *Standstill
	for _, e := range found {
		mends := mendedByRestart(e)
		if worst == nil || mends && !worst.Restart {
			worst = &Standstill{Reason: e.Error, Restart: mends}
		}
	}
	return worst
}

// mendedByRestart says that an error ends with a restart, once what caused it is over. Streams that could not be read when the server
// started, and files that are gone, are not there after another start either.
func mendedByRestart(e server.HealthzError) bool {
	if strings.Contains(e.Error, gone) {
		return false
	}
	return e.Type == server.HealthzErrorJetStream || e.Type == server.HealthzErrorStream && strings.Contains(e.Error, writeError)
}

// Restart stops the server and starts it again on the same folder and port; connections of this process come
// back by themselves, as all others do. When it cannot start, the server stays stopped, and Restart may be
// called again. It does not start on a folder whose streams are gone, as where a volume is not mounted any more.
func (s *Server) Restart() error {
	if !Stores(s.o.Dir) {
		return fmt.Errorf("restarting the NATS server: found no folder %s in %s, expected that of its streams: mount its volume, or put the folder back",
			streamsFolder, s.o.Dir)
	}
	s.revoking.Lock() // a key that is revoked meanwhile is refused by the server that starts
	defer s.revoking.Unlock()
	old := s.running()
	old.Shutdown()
	old.WaitForShutdown()
	err := s.realm.sign()
	if err == nil {
		err = s.run()
	}
	if err != nil {
		return fmt.Errorf("restarting the NATS server in %s: %w", s.o.Dir, err)
	}
	return nil
}

// running is the server that runs now, or ran last.
func (s *Server) running() *server.Server {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.nats
}

// InProcessConn connects within the process, to whichever server runs at that moment.
func (s *Server) InProcessConn() (net.Conn, error) { return s.running().InProcessConn() }

// Dir is the data directory.
func (s *Server) Dir() string { return s.o.Dir }
