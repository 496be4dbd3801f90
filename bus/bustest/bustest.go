// Package bustest starts real NATS servers in the test process, connects to them, and waits for
// conditions. All tests of bus and of the rooms call it; nothing else does.
package bustest

import (
	"context"
	"testing"
	"time"

	"flotilla/bus"
)

// Fleet is the name of the fleet of test servers.
const Fleet = "test"

// Server is an embedded server on a temporary directory, stopped at the end of the test.
type Server struct {
	*bus.Server
}

// Start starts a server on any free port.
func Start(t testing.TB) *Server { return nil }

// Restart stops the server and starts it again on the same directory and port.
func (s *Server) Restart(t testing.TB) {}

// Stop stops the server; Restart starts it again.
func (s *Server) Stop(t testing.TB) {}

// Options are bus options for a connection in process.
func (s *Server) Options() bus.Options { return bus.Options{} }

// TCP are bus options for a connection over TCP with the hub's creds; such a connection survives
// Restart, one in process does not.
func (s *Server) TCP() bus.Options { return bus.Options{} }

// Hub connects as a hub, over TCP.
func (s *Server) Hub(t testing.TB) *bus.Conn { return nil }

// Client connects as the operator, over TCP.
func (s *Server) Client(t testing.TB) *bus.Conn { return nil }

// Agent connects as the agent of a member, over TCP.
func (s *Server) Agent(t testing.TB, member string) *bus.AgentConn { return nil }

// Lead makes the layout, takes the lease as "hub-test" and returns a synced store. The lease is given
// up at the end of the test.
func (s *Server) Lead(t testing.TB) *bus.Store { return nil }

// Eventually polls cond until it returns nil, at most for 10 s; then it fails with the last error.
func Eventually(t testing.TB, cond func() error) {}

// EventuallyIn is Eventually with its own limit.
func EventuallyIn(t testing.TB, within time.Duration, cond func() error) {}

// Context ends with the test, and before its deadline.
func Context(t testing.TB) context.Context { return t.Context() }
