package bus

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"flotilla/bus/lines"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// Reconnect settings: defaults of NATS would bring a whole fleet back within 100 ms.
const (
	// DialTimeout bounds an attempt to reach a server.
	DialTimeout     = 10 * time.Second
	clientTimeout   = 5 * time.Second
	hubWait         = 100 * time.Millisecond
	hubJitter       = 400 * time.Millisecond
	clientPing      = 20 * time.Second
	maxPingsOut     = 2
	retryReport     = 15 * time.Second
	stateReconnects = -1 // no buffer: what was not sent is decided anew
)

// Conn is one connection of a hub or a client.
type Conn struct {
	NC    *nats.Conn
	JS    jetstream.JetStream
	Fleet subjects.Fleet
	Log   zerolog.Logger

	url    string
	Domain string // of JetStream
	holder holder
	person person
	wallet Wallet           // nil where it does not bring the credentials
	now    func() time.Time // nil is the machine's clock
	stalls stalls

	confidence confidence

	mu      sync.Mutex
	refused error // of the credentials, when last they were shown

	audience audience
}

// ConnectHub connects as hub replica o.Name ("flotilla-hub/<replica>"), with what is more, and retries until ctx ends.
func ConnectHub(ctx context.Context, o Options, more ...nats.Option) (*Conn, error) {
	if o.Server != nil && len(o.CredsText) == 0 {
		text, err := readCreds(o.Server.HubCreds())
		if err != nil {
			return nil, err
		}
		o.CredsText = text
	}
	name := "flotilla-hub/" + cmp.Or(o.Name, "hub")
	c, err := o.Connect(name, append(more, nats.RetryOnFailedConnect(true), nats.ReconnectWait(hubWait),
		nats.ReconnectJitter(hubJitter, hubJitter))...)
	if err != nil {
		return nil, err
	}
	if err := c.waitConnected(ctx); err != nil {
		c.Close()
		return nil, fmt.Errorf("connecting to NATS at %s as %s: %w", c.url, name, err)
	}
	return c, nil
}

// ConnectClient connects as the command line client ("flotilla-cli/<user>"). It does not retry: the
// error names the URL and the next command to type.
func ConnectClient(ctx context.Context, o Options) (*Conn, error) {
	if o.Server != nil && len(o.CredsText) == 0 {
		text, err := readCreds(o.Server.OperatorCreds())
		if err != nil {
			return nil, err
		}
		o.CredsText = text
	}
	timeout := cmp.Or(o.Timeout, clientTimeout)
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(deadline))
	}
	if timeout <= 0 {
		return nil, context.DeadlineExceeded
	}
	return o.connect(spared, "flotilla-cli/"+cmp.Or(o.Name, "user"), nats.Timeout(timeout), nats.ReconnectWait(hubWait))
}

// Connect makes a connection of a name with what all of ours have in common, and more.
func (o Options) Connect(name string, more ...nats.Option) (*Conn, error) {
	return o.connect(guard, name, more...)
}

// connect is Connect with who judges files of keys.
func (o Options) connect(guard func(path string) error, name string, more ...nats.Option) (*Conn, error) {
	fleet := subjects.Fleet{Name: cmp.Or(o.Fleet, subjects.DefaultFleet)}
	if err := subjects.CheckLabel("fleet", fleet.Name); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSetup, err)
	}
	e, err := o.resolve(guard)
	if err != nil {
		return nil, err
	}
	c := &Conn{
		Fleet: fleet, Log: o.Log, Domain: e.domain, url: e.shown(), holder: e.holder, person: e.personOf(fleet), now: o.Now,
	}
	if o.ByWallet() {
		c.wallet = o.Wallet
	}
	options := append(c.handlers(), nats.Name(name), nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort(),
		nats.PingInterval(clientPing), nats.MaxPingsOutstanding(maxPingsOut), nats.ReconnectBufSize(stateReconnects), nats.Timeout(DialTimeout))
	if prefix := cmp.Or(c.inbox(), e.inboxPrefix); prefix != "" {
		options = append(options, nats.CustomInboxPrefix(prefix))
	}
	options = append(append(options, e.auth...), more...)
	if c.NC, err = nats.Connect(e.url, options...); err != nil {
		return nil, connectError(e, err)
	}
	c.JS, err = jetstream.New(c.NC)
	if e.domain != "" {
		c.JS, err = jetstream.NewWithDomain(c.NC, e.domain)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// inbox is the prefix of reply subjects that the credentials ask for; empty for any.
func (c *Conn) inbox() string {
	if _, _, ok := c.Fleet.PersonIn(c.holder.publish); !ok {
		return ""
	}
	return subjects.PersonInbox(c.person.name)
}

func connectError(e endpoint, err error) error {
	kind, next := ErrUnreachable, "start a hub with `go run ./hub --dev`, or say where yours is with NATS_URL or NATS_CONTEXT"
	if ofCredentials(err) {
		kind, next = ErrDenied, "give credentials of this server, NATS_CREDS=<data>/operator.creds"
	}
	if errors.Is(err, nats.ErrSecureConnWanted) {
		kind, next = ErrSetup, "found a server that speaks no TLS, expected one that does, as tls:// and --tls-ca say: another one answers there, or it was started without its certificate"
	}
	if untrusted(err) {
		kind, next = ErrSetup, "name the authority of its certificate with --tls-ca (NATS_CA): the hub keeps its own in <data>/tls/ca.pem"
	}
	return fmt.Errorf("%w: connecting to NATS at %s (%s): %w; %s", kind, e.shown(), e.from, err, next)
}

// untrusted says that the certificate of a server is of nobody that is trusted.
func untrusted(err error) bool {
	unknown, other := x509.UnknownAuthorityError{}, x509.HostnameError{}
	return errors.As(err, &unknown) || errors.As(err, &other)
}

func (c *Conn) handlers() []nats.Option {
	report, bound := c.reportRetries(), &lines.Bound{}
	return []nats.Option{
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				c.Log.Warn().Err(err).Str("url", c.url).Msg("NATS connection lost")
			}
			c.disturb(Lost, nil)
		}),
		nats.ConnectHandler(func(*nats.Conn) { c.admit(nil); c.disturb(Restored, nil) }),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			c.Log.Info().Str("url", nc.ConnectedUrlRedacted()).Msg("NATS connection is back")
			c.stalls.clear()
			c.admit(nil)
			c.disturb(Restored, nil)
		}),
		nats.ReconnectErrHandler(report),
		nats.ErrorHandler(func(nc *nats.Conn, sub *nats.Subscription, err error) {
			if ofCredentials(err) { // each time that they are shown
				report(nc, err)
				return
			}
			if errors.Is(err, nats.ErrBadHeaderMsg) {
				return // who sends it may send it a thousand times, and it is refused as what it is
			}
			about := cmp.Or(sub, &nats.Subscription{}).Subject
			line := bound.Of(about, c.Log.Error).Err(err)
			if about != "" {
				line = line.Str("subject", about)
			}
			line.Msg("NATS connection reports")
			switch {
			case errors.Is(err, nats.ErrSlowConsumer) && !strings.HasPrefix(about, c.Fleet.Prefix()+"."):
				// What is sent to subjects of the fleet, as requests are, is lost to who sent it alone: feeds follow by inboxes.
				c.disturb(Slow, err)
			case errors.Is(err, nats.ErrPermissionViolation):
				c.disturb(Denied, c.denied(err))
			}
		}),
	}
}

// reportRetries logs why connecting fails, the first time and then once in a while.
func (c *Conn) reportRetries() nats.ConnErrHandler {
	var last time.Time // the library calls all handlers on one goroutine
	return func(_ *nats.Conn, err error) {
		c.admit(err)
		if time.Since(last) < retryReport {
			return
		}
		last = time.Now()
		text := "NATS does not answer, trying again until it does"
		if ofCredentials(err) {
			text = "NATS does not take the credentials, trying again until it does" + c.remedy()
		}
		c.Log.Warn().Err(err).Str("url", c.url).Msg(text)
	}
}

// remedy is what helps an agent whose credentials are not taken; empty for others.
func (c *Conn) remedy() string {
	if c.wallet == nil {
		return ""
	}
	member, _, _ := c.wallet.Where()
	return fmt.Sprintf("; if the agent was revoked, or another took its place, it needs a token: flotilla member enrol %s > %s.token", member, member)
}

// waitConnected waits for a connection that is being retried.
func (c *Conn) waitConnected(ctx context.Context) error {
	up := c.NC.StatusChanged(nats.CONNECTED, nats.CLOSED)
	defer c.NC.RemoveStatusListener(up)
	if c.NC.IsConnected() {
		return nil
	}
	select {
	case <-up:
		if c.NC.IsClosed() {
			return nats.ErrConnectionClosed
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close closes the connection at once.
func (c *Conn) Close() {
	c.audience.leaves.Store(true)
	c.NC.Close()
}

// OnClosed has f called when the connection is closed for good and Close was not called: a server refused a line of it. Nothing brings it back.
func (c *Conn) OnClosed(f func(error)) {
	c.NC.SetClosedHandler(func(nc *nats.Conn) { // services keep that which was there before theirs, and call it
		if !c.audience.leaves.Load() {
			f(fmt.Errorf("the connection to NATS at %s is closed for good: %w", c.url, cmp.Or(nc.LastError(), nats.ErrConnectionClosed)))
		}
	})
}

// URL is where the connection was told to go, without passwords, as Told says it.
func (c *Conn) URL() string { return c.Told(c.url) }

// Told is what others are told who are to reach the same servers at a URL: where these speak TLS it asks for that, so that
// nobody on the way takes it off.
func (c *Conn) Told(url string) string {
	if _, err := c.NC.TLSConnectionState(); err == nil || c.NC.TLSRequired() {
		return api.OverTLS(url)
	}
	return url
}
