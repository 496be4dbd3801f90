package server

import (
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/nats-io/nats-server/v2/server"
)

// Standstill is why an embedded server stores nothing any more.
type Standstill struct {
	Reason string
	// Restart is set where a restart mends it, once there is room.
	Restart bool
}

// noRoom are the texts of the errors of a file system that is full, of a quota that is used up and of files that
// may not grow; the server hands on no more than text.
var noRoom = []string{syscall.ENOSPC.Error(), syscall.EDQUOT.Error(), syscall.EFBIG.Error()}

// Standstill looks whether the server still stores what it is sent. A file store keeps its first write error
// until the server is restarted, and for want of room a server may turn JetStream off.
func (s *Server) Standstill() *Standstill {
	health := s.running().Healthz(&server.HealthzOptions{Details: true})
	var found *Standstill
	for _, e := range health.Errors {
		full := e.Type == server.HealthzErrorJetStream
		for _, text := range noRoom {
			full = full || strings.Contains(e.Error, text)
		}
		if found == nil || full && !found.Restart {
			found = &Standstill{Reason: e.Error, Restart: full}
		}
	}
	return found
}

// Restart stops the server and starts it again on the same folder and port; connections of this process come
// back by themselves, as all others do. When it cannot start, the server stays stopped, and Restart may be
// called again.
func (s *Server) Restart() error {
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
