package bus

import (
	"errors"
	"time"

	"github.com/rs/zerolog"
)

var errUnbuilt = errors.New("not built")

// Durability of an embedded server.
const (
	DurabilityInterval = "interval" // fsync every second; a power cut may lose the last one
	DurabilityAlways   = "always"   // fsync before every acknowledgement
)

// ServerOptions says how to run an embedded NATS server.
type ServerOptions struct {
	// Dir is the data directory; it is made, locked, and holds streams, keys and creds files.
	Dir string
	// Host is the address to listen on, loopback when empty. Port is 4222 when 0, any free one when -1.
	Host string
	Port int
	// HTTPPort serves NATS monitoring on loopback; 0: not at all.
	HTTPPort int
	// Durability is DurabilityInterval when empty.
	Durability string
	// Fleet is the name of the fleet whose accounts and permissions the server enforces.
	Fleet string
	// MaxStore and MaxMemory limit JetStream, in bytes; 0: 64 GiB and 256 MiB.
	MaxStore, MaxMemory int64
	// LameDuck is over how long clients are sent away by LameDuckShutdown; 0: 30 s.
	LameDuck time.Duration
	Log      zerolog.Logger
}

// Server is a NATS server in this process, in operator mode with the accounts HUB (JetStream), AGENTS
// and SYS. Several can run in one process.
type Server struct{}

// StartServer starts a server on its data directory and returns when it accepts connections. The
// error names the holder when the directory is locked, and the port and a command to type when the
// port is taken.
func StartServer(o ServerOptions) (*Server, error) { return nil, errUnbuilt }

// URL is where clients connect, "nats://127.0.0.1:4222".
func (s *Server) URL() string { return "" }

// Loopback says that the server listens on a loopback address only.
func (s *Server) Loopback() bool { return true }

// OperatorCreds is the path of the creds file for the command line client, <dir>/operator.creds.
func (s *Server) OperatorCreds() string { return "" }

// HubCreds is the path of the creds file of the hub, for hubs in other processes, <dir>/hub.creds.
func (s *Server) HubCreds() string { return "" }

// AgentCreds mints the text of a .creds file for a member's agent.
func (s *Server) AgentCreds(member string) ([]byte, error) { return nil, errUnbuilt }

// Issuer mints credentials of agents with the server's signing key.
func (s *Server) Issuer() *Issuer { return nil }

// LameDuckShutdown sends clients away over ServerOptions.LameDuck, then stops and unlocks; for SIGTERM.
func (s *Server) LameDuckShutdown() {}

// Shutdown stops at once, waits until stopped and unlocks the data directory.
func (s *Server) Shutdown() {}

// Issuer mints credentials of agents with a scoped signing key of the account AGENTS.
type Issuer struct{}

// NewIssuer makes an issuer from the public key of the account and the seed of its signing key; for
// hubs on an external server.
func NewIssuer(account string, seed []byte) (*Issuer, error) { return nil, errUnbuilt }

// AgentCreds mints the text of a .creds file for a member's agent.
func (i *Issuer) AgentCreds(member string) ([]byte, error) { return nil, errUnbuilt }
