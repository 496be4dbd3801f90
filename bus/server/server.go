package server

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"flotilla/bus"
	"flotilla/bus/lines"
	"flotilla/bus/streams"
	"flotilla/subjects"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"
)

// streamsFolder is where a server keeps streams, inside its data directory.
const streamsFolder = "streams"

// Stores says that a data directory holds streams.
func Stores(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, streamsFolder))
	return err == nil
}

// DefaultPort is the port of NATS.
const DefaultPort = 4222

// MaxPayload is the largest message, in bytes; more is warned against by NATS.
const MaxPayload = 8 << 20

const (
	defaultMaxStore  = 64 << 30
	defaultMaxMemory = 256 << 20
	defaultLameDuck  = 30 * time.Second
	startTimeout     = 20 * time.Second
	syncInterval     = time.Second
	slowClient       = 10 * time.Second // to write to, and to authenticate
	pingInterval     = 20 * time.Second
)

// Options says how to run an embedded NATS server.
type Options struct {
	// Dir is the data directory; it is made, locked, and holds streams, keys and creds files.
	Dir string
	// TLS is what the server speaks with those who connect over the network; it is needed beyond loopback.
	TLS TLS
	// Host is the address to listen on, loopback when empty. Port is 4222 when 0, any free one when -1.
	Host string
	Port int
	// HTTPPort serves NATS monitoring on loopback; 0: not at all, -1: any free one.
	HTTPPort int
	// Durability is DurabilityInterval when empty.
	Durability string
	// Fleet is the name of the fleet whose accounts and permissions the server enforces.
	Fleet string
	// MaxStore and MaxMemory limit JetStream, in bytes; 0: 64 GiB and 256 MiB.
	MaxStore, MaxMemory int64
	// MaxConnections is how many connections the server takes, whoever's they are; 0: 65,536.
	MaxConnections int
	// LameDuck is over how long clients are sent away by LameDuckShutdown; 0: 30 s.
	LameDuck time.Duration
	Log      zerolog.Logger
}

// Server is a NATS server in this process, in operator mode with the accounts HUB (JetStream), AGENTS,
// PEOPLE and SYS. Several can run in one process.
type Server struct {
	o      Options
	mu     sync.RWMutex
	nats   *server.Server  // see running
	unread map[string]bool // what it said when it started of streams that it could not read
	lock   *dirLock
	realm  *operator
	issuer *Issuer

	revoking sync.Mutex

	crowd       *crowd
	stopBouncer func()
}

// Start starts a server on its data directory and returns when it accepts connections. The
// error names the holder when the directory is locked, and the port and a command to type when the
// port is taken.
func Start(o Options) (*Server, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	lock, err := lockDir(o.Dir)
	if err != nil {
		return nil, err
	}
	s := &Server{o: o, lock: lock, crowd: newCrowd()}
	if err := s.start(); err != nil {
		lock.release()
		return nil, fmt.Errorf("starting the NATS server in %s: %w", o.Dir, err)
	}
	return s, nil
}

func (o Options) withDefaults() (Options, error) {
	if o.Dir == "" {
		return o, errors.New("the NATS server needs a data directory")
	}
	if o.Fleet == "" {
		o.Fleet = subjects.DefaultFleet
	}
	if err := subjects.CheckLabel("fleet", o.Fleet); err != nil {
		return o, err
	}
	if o.Durability == "" {
		o.Durability = streams.DurabilityInterval
	}
	if o.Durability != streams.DurabilityInterval && o.Durability != streams.DurabilityAlways {
		return o, fmt.Errorf("durability %q: expected %q or %q", o.Durability, streams.DurabilityInterval, streams.DurabilityAlways)
	}
	if o.Host == "" {
		o.Host = "127.0.0.1"
	}
	if err := o.checkTLS(); err != nil {
		return o, err
	}
	setDefault(&o.Port, DefaultPort)
	setDefault(&o.MaxStore, defaultMaxStore)
	setDefault(&o.MaxMemory, defaultMaxMemory)
	setDefault(&o.MaxConnections, connectionsOfServers)
	setDefault(&o.LameDuck, defaultLameDuck)
	return o, nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (s *Server) start() error {
	var err error
	if s.realm, err = openRealm(s.o.Dir, subjects.Fleet{Name: s.o.Fleet}, s.o.MaxConnections); err != nil {
		return err
	}
	s.issuer = s.realm.issuer()
	if err := s.run(); err != nil {
		return err
	}
	if err := s.startBouncer(); err != nil {
		s.nats.Shutdown()
		return fmt.Errorf("hearing who connects: %w", err)
	}
	return nil
}

// run starts a server, which keeps its port from then on.
func (s *Server) run() error {
	if err := s.checkPort(); err != nil {
		return err
	}
	options, err := s.options()
	if err != nil {
		return err
	}
	started, err := server.NewServer(options)
	if err != nil {
		return err
	}
	started.SetLoggerV2(natsLog{s.o.Log, &lines.Bound{}}, false, false, false)
	if err := s.settle(started); err != nil {
		return err
	}
	started.Start()
	if !started.ReadyForConnections(startTimeout) {
		started.Shutdown()
		return fmt.Errorf("it does not accept connections on %s after %s", s.address(), startTimeout)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nats, s.unread = started, unreadIn(started)
	if at, ok := started.Addr().(*net.TCPAddr); ok {
		s.o.Port = at.Port
	}
	return nil
}

// unreadIn are the errors of streams that a server could not read when it started; nobody has made one since.
func unreadIn(started *server.Server) map[string]bool {
	unread := map[string]bool{}
	for _, e := range started.Healthz(&server.HealthzOptions{Details: true}).Errors {
		unread[e.Error] = true
	}
	return unread
}

// settle makes the accounts before anybody can connect. A server makes one when somebody shows credentials of it, and who comes
// while it is half made finds it without the keys that it refuses.
func (s *Server) settle(starting *server.Server) error {
	for account := range s.realm.accounts {
		if _, err := starting.LookupAccount(account); err != nil {
			return fmt.Errorf("account %s: %w", account, err)
		}
	}
	return nil
}

func (s *Server) options() (*server.Options, error) {
	resolver := &server.MemAccResolver{}
	for account, token := range s.realm.accounts {
		if err := resolver.Store(account, token); err != nil {
			return nil, err
		}
	}
	operator, err := jwt.DecodeOperatorClaims(s.realm.operator)
	if err != nil {
		return nil, err
	}
	grace := min(10*time.Second, s.o.LameDuck/3)
	o := &server.Options{
		ServerName:             "flotilla-" + s.o.Fleet,
		Host:                   s.o.Host,
		Port:                   s.o.Port,
		NoSigs:                 true,
		MaxPayload:             MaxPayload,
		MaxConn:                s.o.MaxConnections,
		PingInterval:           pingInterval,
		WriteDeadline:          slowClient,
		AuthTimeout:            slowClient.Seconds(),
		LameDuckDuration:       s.o.LameDuck,
		LameDuckGracePeriod:    grace,
		TrustedOperators:       []*jwt.OperatorClaims{operator},
		SystemAccount:          s.realm.public("system"),
		AccountResolver:        resolver,
		JetStream:              true,
		StoreDir:               filepath.Join(s.o.Dir, streamsFolder),
		JetStreamMaxStore:      s.o.MaxStore,
		JetStreamMaxMemory:     s.o.MaxMemory,
		SyncInterval:           syncInterval,
		SyncAlways:             s.o.Durability == streams.DurabilityAlways,
		StreamMaxBufferedSize:  bus.MaxBuffered,
		DisableJetStreamBanner: true,
	}
	o.JetStreamLimits.DefaultMaxConsumers = -1
	if o.TLSConfig, err = s.tlsConfig(); err != nil {
		return nil, err
	}
	o.TLS, o.TLSTimeout = o.TLSConfig != nil, tlsTimeout
	if s.o.HTTPPort != 0 {
		o.HTTPHost, o.HTTPPort = "127.0.0.1", s.o.HTTPPort
	}
	return o, nil
}

// checkPort finds out early, and in words, that somebody else listens.
func (s *Server) checkPort() error {
	if s.o.Port < 0 {
		return nil
	}
	l, err := net.Listen("tcp", s.address())
	if err != nil {
		return fmt.Errorf("port %d on %s is not free (%w): see who holds it with `ss -ltnp 'sport = :%d'`, or choose another one, `--port %d`",
			s.o.Port, s.o.Host, err, s.o.Port, s.o.Port+1)
	}
	return l.Close()
}

// Address is where the server listens, HOST:PORT.
func (s *Server) Address() string { return s.address() }

func (s *Server) address() string { return net.JoinHostPort(s.o.Host, strconv.Itoa(s.o.Port)) }

// URL is where clients of this machine connect, "nats://127.0.0.1:4222"; it names
// loopback when the server listens on every address.
func (s *Server) URL() string {
	at, err := url.Parse(s.running().ClientURL())
	if err != nil {
		return s.running().ClientURL()
	}
	if ip := net.ParseIP(at.Hostname()); ip != nil && ip.IsUnspecified() {
		at.Host = net.JoinHostPort("127.0.0.1", at.Port())
	}
	return at.String()
}

// OperatorCreds is the path of the creds file of the first person, an admin, <dir>/operator.creds; empty once they
// were revoked.
func (s *Server) OperatorCreds() string {
	if s.Revoked(subjects.AccountPeople, s.FirstPerson()) {
		return ""
	}
	return filepath.Join(s.o.Dir, operatorCredsFile)
}

// HubCreds is the path of the creds file of the hub, for hubs in other processes, <dir>/hub.creds.
func (s *Server) HubCreds() string { return filepath.Join(s.o.Dir, hubCredsFile) }

// InspectorCreds is the path of the creds file for tools of NATS, <dir>/inspector.creds.
func (s *Server) InspectorCreds() string { return filepath.Join(s.o.Dir, inspectorFile) }

// Issuer mints credentials of agents with the server's signing key.
func (s *Server) Issuer() *Issuer { return s.issuer }

// Monitoring is the URL of NATS monitoring, empty when there is none.
func (s *Server) Monitoring() string {
	if addr := s.running().MonitorAddr(); addr != nil {
		return "http://" + addr.String()
	}
	return ""
}

// LameDuck is over how long LameDuckShutdown sends clients away.
func (s *Server) LameDuck() time.Duration { return s.o.LameDuck }

// LameDuckShutdown stops JetStream, sends clients away over ServerOptions.LameDuck, then stops and
// unlocks. It is for SIGTERM of a server with agents elsewhere; rooms must have stopped before.
func (s *Server) LameDuckShutdown() {
	s.stopBouncer()
	s.running().LameDuckShutdown()
	s.Shutdown()
}

// Shutdown stops at once, waits until stopped and unlocks the data directory. Calling it again does
// nothing.
func (s *Server) Shutdown() {
	s.stopBouncer()
	running := s.running()
	running.Shutdown()
	running.WaitForShutdown()
	s.lock.release()
}

// writePrivate replaces a file that only its owner may read, in one step.
func writePrivate(path string, text []byte) error {
	next := path + ".next"
	if err := os.WriteFile(next, text, 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}
