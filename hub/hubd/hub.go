package hubd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"flotilla/bus"
	"flotilla/bus/loop"
	"flotilla/bus/reads"
	"flotilla/bus/server"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/seal"
	"flotilla/hub/checker"
	"flotilla/hub/door"
	"flotilla/hub/notifier"
)

// ErrLameDuck is a cause to end Run's context with: it makes an embedded server send its clients away
// gently before it stops.
var ErrLameDuck = errors.New("lame duck")

// Pauses before the hub competes again after a room failed.
const (
	firstPause = 500 * time.Millisecond
	lastPause  = 3 * time.Second
	// steady is after how long a term the pauses begin anew.
	steady = 30 * time.Second
)

// Hub is one hub. Its methods may be called from any goroutine.
type Hub struct {
	options  Options
	beyond   beyond
	server   *server.Server
	accounts *server.Accounts // on servers that others run, nil where their keys are others' too
	conn     *bus.Conn
	cleanups []cleanup
	failed   chan error
	// rooms makes the rooms of one term of leadership.
	rooms   func(*store.Store) []room
	metrics metrics
	warden  *warden
	keys    *seal.Keyring // the secrets of the fleet, when it started

	servers servers
	reads   *reads.Reader

	sites
	term
}

// beyond is whom a hub tells of its fleet, and asks about it.
type beyond struct {
	channels []notifier.Channel
	checks   *checker.Endpoints
}

// sites are what a hub serves by HTTP; nil where it does not. Beside them are all ways into it.
type sites struct {
	page, front *served
	frontCA     []byte // see Front
	ways        ways
}

// term is what a hub does at the moment: whether it leads.
type term struct {
	mu      sync.Mutex
	leading *store.Store
	own     *door.Door // of the rooms of the term
	// damaged is why this hub serves what is left of state, and does not lead.
	damaged error
	// standing ends the rooms of the term.
	standing context.CancelCauseFunc
	changed  chan struct{} // closed and replaced when leading changes
}

// cleanup undoes one thing that Start did.
type cleanup struct {
	name string
	run  func(lameDuck bool)
}

// New checks options; it starts nothing.
func New(o Options) (*Hub, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("options of the hub: %w", err)
	}
	channels, err := notifier.Channels(o.Notifications, os.Getenv)
	if err != nil {
		return nil, fmt.Errorf("options of the hub: %w", err)
	}
	checks, err := checker.EndpointsOf(&o.Policy.Checks, os.Getenv)
	if err != nil {
		return nil, fmt.Errorf("options of the hub: %w", err)
	}
	h := &Hub{options: o, beyond: beyond{channels, checks}, failed: make(chan error, 1), term: term{changed: make(chan struct{})}, metrics: newMetrics()}
	h.rooms, h.warden = h.allRooms, &warden{hub: h}
	return h, nil
}

// Serve waits until ctx ends or the hub, which was started, fails, and stops it.
func (h *Hub) Serve(ctx context.Context) error {
	select {
	case <-ctx.Done():
		h.stop(errors.Is(context.Cause(ctx), ErrLameDuck))
		return nil
	case err := <-h.failed:
		h.Stop()
		return err
	}
}

// Start starts the server, connects, and competes for the lease in the background; ctx bounds starting
// alone. What was started is undone when it errs.
func (h *Hub) Start(ctx context.Context) error {
	for _, step := range []struct {
		name string
		run  func(context.Context) (func(bool), error)
	}{
		{"connections", h.boundConnections},
		{"secrets", h.ownSecrets},
		{"server", h.startServer},
		{"connection", h.connect},
		{"reads", h.answerReads},
		{"secrets", h.openSecrets},
		{"room", h.startWarden},
		{"metrics", h.startMetrics},
		{"page", h.listenPage},
		{"Kubernetes API", h.listenFront},
		{"leadership", h.compete},
		{"page", h.servePage},
		{"Kubernetes API", h.serveFront},
	} {
		undo, err := step.run(ctx)
		if err != nil {
			h.Stop()
			return fmt.Errorf("starting the hub, %s: %w", step.name, err)
		}
		h.cleanups = append(h.cleanups, cleanup{step.name, undo})
	}
	return nil
}

// Stop undoes Start in reverse order and returns when all is undone. Calling it again does nothing.
func (h *Hub) Stop() { h.stop(false) }

// Failed receives the error that ended the hub's leadership for good.
func (h *Hub) Failed() <-chan error { return h.failed }

func (h *Hub) stop(lameDuck bool) {
	for len(h.cleanups) > 0 {
		last := h.cleanups[len(h.cleanups)-1]
		h.cleanups = h.cleanups[:len(h.cleanups)-1]
		h.options.Log.Debug().Str("part", last.name).Msg("stopping")
		last.run(lameDuck)
	}
}

func (h *Hub) startServer(context.Context) (func(bool), error) {
	if h.options.Server == nil {
		return func(bool) {}, nil
	}
	o := *h.options.Server
	o.Fleet, o.Log, o.MaxConnections = h.options.Fleet, h.options.Log, h.ways.most.nats
	server, err := server.Start(o)
	if err != nil {
		return nil, err
	}
	h.server = server
	line := h.options.Log.Info().Str("NATS_URL", server.URL())
	if creds := server.OperatorCreds(); creds != "" {
		line = line.Str("NATS_CREDS", creds)
	}
	line.Msg("the NATS server is ready; set these for the command line")
	return func(lameDuck bool) {
		if lameDuck {
			h.options.Log.Info().Stringer("over", server.LameDuck()).
				Msg("sending the clients of the NATS server away before it stops; interrupt to stop at once")
			server.LameDuckShutdown()
			return
		}
		server.Shutdown()
	}, nil
}

func (h *Hub) connect(ctx context.Context) (func(bool), error) {
	if h.server == nil {
		if err := h.openAccounts(); err != nil {
			return nil, err
		}
		h.options.Log.Info().Stringer("broker", h.broker()).Msg("connecting to NATS servers that others run")
	}
	conn, err := bus.ConnectHub(ctx, h.broker())
	if err != nil {
		return nil, err
	}
	h.conn = conn
	conn.OnClosed(h.fail)
	if err := h.judgeServers(); err != nil {
		conn.Close()
		return nil, err
	}
	h.options.Log.Info().Str("url", conn.URL()).Msg("connected to NATS")
	return func(bool) { conn.Close() }, nil
}

// broker says how this hub reaches the servers: as the hub that the accounts know, where it has their keys.
func (h *Hub) broker() bus.Options {
	o := h.options.Bus
	o.Fleet, o.Name, o.Version, o.Log, o.Now = h.options.Fleet, h.options.Name, api.Version, h.options.Log, h.options.Now
	if h.server != nil {
		o.Server = h.server
	}
	if h.accounts != nil {
		o.Creds = cmp.Or(o.Creds, h.accounts.HubCreds())
	}
	return o
}

// openAccounts reads the keys of the accounts, if there are any.
func (h *Hub) openAccounts() error {
	if h.options.Accounts == "" {
		return nil
	}
	accounts, err := server.OpenAccounts(h.options.Accounts, h.broker())
	if err != nil {
		return err
	}
	h.accounts = accounts
	return nil
}

// fail ends the hub, which cannot do its work any more: whoever runs it starts it anew.
func (h *Hub) fail(err error) {
	select {
	case h.failed <- err:
	default: // it ends already
	}
}

func (h *Hub) compete(context.Context) (func(bool), error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := h.leadAgain(ctx); err != nil {
			h.fail(fmt.Errorf("leading: %w", err))
		}
	}()
	return func(bool) { cancel(); <-ended }, nil
}

// leadAgain competes until ctx ends. A room that failed gives the lease up, and after a growing pause
// the hub competes again with everything read anew; other errors are for good.
func (h *Hub) leadAgain(ctx context.Context) error {
	retry := loop.Backoff{First: firstPause, Most: lastPause}
	for {
		began := h.conn.Now()
		err := store.Lead(ctx, h.conn, h.options.Name, h.options.Lead, h.act)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		if !errors.Is(err, errRoom) {
			return err
		}
		if h.conn.Now().Sub(began) > steady {
			retry.Reset()
		}
		pause := retry.Next()
		h.options.Log.Error().Err(err).Dur("pause", pause).Msg("leading ended, competing again")
		if !loop.Pause(ctx, pause) {
			return nil
		}
	}
}

// Server is the embedded server, nil without one; it is there after Start.
func (h *Hub) Server() *server.Server { return h.server }

// lead notes the store of the term this hub leads in, nil when it does not.
func (h *Hub) lead(s *store.Store) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leading, h.own = s, nil
	close(h.changed)
	h.changed = make(chan struct{})
}

// store is what the hub leads with now, nil while another one leads.
func (h *Hub) store() (s *store.Store, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.leading, h.changed
}

// door is that of the term this hub leads in, nil while another one leads.
func (h *Hub) door() *door.Door {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.own
}

// open notes the door of the term this hub leads in.
func (h *Hub) open(own *door.Door) *door.Door {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.own = own
	close(h.changed)
	h.changed = make(chan struct{})
	return own
}

// opened is the door of the term this hub leads in, once it stands; nil while another one leads, and at the end of ctx.
func (h *Hub) opened(ctx context.Context) *door.Door {
	for {
		h.mu.Lock()
		own, leads, changed := h.own, h.leading != nil, h.changed
		h.mu.Unlock()
		if own != nil || !leads {
			return own
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// WaitLeading returns when this hub leads, or with ctx's error.
func (h *Hub) WaitLeading(ctx context.Context) error {
	for {
		s, changed := h.store()
		if s != nil {
			return nil
		}
		select {
		case <-changed:
		case err := <-h.failed:
			h.failed <- err
			return err
		case <-ctx.Done():
			return fmt.Errorf("waiting to lead: %w", context.Cause(ctx))
		}
	}
}
