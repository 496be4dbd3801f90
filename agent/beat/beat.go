// Package beat tells the hub how the member does: a heartbeat every interval, with the member's
// properties, labels and health, and one more at once when health or the nodes change.
//
// Package agentd runs it. A heartbeat that cannot be sent is dropped; the next one says more. While
// the member cannot be read, heartbeats say so and repeat the properties last seen.
package beat

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"maps"
	mathrand "math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"flotilla/agent/target"
	"flotilla/bus/member"
	"flotilla/core/api"
)

const (
	// DefaultInterval is the time between heartbeats.
	DefaultInterval = 15 * time.Second
	// collectTimeout bounds the reading of the member.
	collectTimeout = 10 * time.Second
	// sendTimeout bounds the sending of one heartbeat.
	sendTimeout = 10 * time.Second
	// hurry is the least time between two heartbeats, and how soon a change is told.
	hurry = time.Second
	// maxNames is how many namespaces a heartbeat lists, as KubeFleet does, and how many unlisted
	// placements, so that it stays small.
	maxNames = 200
	// maxForbidden is how many missing permissions it lists.
	maxForbidden = 20
)

// Census is what a heartbeat asks of the member; package target says what each promises.
type Census interface {
	Ready(ctx context.Context) error
	Version(ctx context.Context) (string, error)
	Nodes(ctx context.Context) ([]target.Node, error)
	Namespaces(ctx context.Context) ([]string, error)
	Watch(ctx context.Context) <-chan target.Change
}

// Options of a Beat. Member, Hub and Target are needed.
type Options struct {
	Member string
	Hub    *member.Conn
	Target Census
	// Version of the agent.
	Version string
	// Interval is DefaultInterval when 0; up to a tenth is taken off at random.
	Interval time.Duration
	// Labels to offer, which win over what the nodes say, and properties that win over those observed.
	Labels     map[string]string
	Properties map[string]string
	// Namespaces makes heartbeats list the member's namespaces.
	Namespaces bool
	Sources
	Log zerolog.Logger
}

// Sources are what others say for heartbeats; nil says nothing.
type Sources struct {
	// Observed are properties that something else observes, which win over those of the nodes; nil is none.
	Observed func() map[string]string
	// Price is what a node costs per hour that says nothing of that, 0 when unknown; nil knows none.
	Price func(*target.Node) float64
	// Holds, Unlisted and Trouble speak for the worker; nil says nothing.
	Holds    func() api.Order
	Unlisted func() []string
	Trouble  func() string
	// Renewal says why credentials cannot be renewed; nil says nothing.
	Renewal func() string
	// Forbidden lists what the member does not permit the agent; nil says nothing.
	Forbidden func() []string
	// Fit says why the agent cannot work, which makes its member unhealthy; nil when it can.
	Fit func() error
}

// Beat sends heartbeats. Make it with New, run it once.
type Beat struct {
	o        Options
	last     api.Heartbeat // the newest that was made
	wake     chan struct{}
	stored   atomic.Pointer[time.Time] // when the hub last took one
	silenced bool                      // the last heartbeat could not be sent, and that was logged
}

// New returns a Beat with a boot id of its own.
func New(o Options) *Beat {
	if o.Interval <= 0 {
		o.Interval = DefaultInterval
	}
	return &Beat{o: o, wake: make(chan struct{}, 1), last: api.Heartbeat{
		Header: api.NewHeader(api.KindHeartbeat), Member: o.Member, Boot: rand.Text(),
		AgentVersion: o.Version, IntervalSeconds: int(o.Interval.Round(time.Second) / time.Second), Labels: maps.Clone(o.Labels),
	}}
}

// Run sends heartbeats until ctx ends.
func (b *Beat) Run(ctx context.Context) {
	defer b.o.Hub.OnConnect(b.hasten)()
	changes := b.o.Target.Watch(ctx)
	for {
		b.send(ctx)
		sent := b.o.Hub.Now()
		if !b.rest(ctx, changes) {
			return
		}
		pause := time.NewTimer(hurry - min(hurry, b.o.Hub.Now().Sub(sent)))
		select {
		case <-ctx.Done():
			pause.Stop()
			return
		case <-pause.C:
		}
	}
}

// hasten makes the next heartbeat come soon.
func (b *Beat) hasten() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// rest waits for the interval to pass or for something to tell. It reports false when ctx ended.
func (b *Beat) rest(ctx context.Context, changes <-chan target.Change) bool {
	interval := time.NewTimer(b.o.Interval - time.Duration(mathrand.Float64()*float64(b.o.Interval)/10))
	defer interval.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-interval.C:
			return true
		case <-b.wake:
			return true
		case c, ok := <-changes:
			if !ok {
				changes = nil
			}
			if c.Health || c.Nodes {
				return true
			}
		}
	}
}

func (b *Beat) send(ctx context.Context) {
	if !b.o.Hub.Heard() {
		return
	}
	h := b.next(ctx)
	h.Sent = b.o.Hub.Now().UnixMilli()
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	err := b.o.Hub.PutHeartbeat(ctx, h)
	if err != nil && !b.o.Hub.Heard() {
		return // the connection went away meanwhile
	}
	switch {
	case err == nil && b.silenced:
		b.o.Log.Info().Msg("heartbeats are heard again")
	case err != nil && !b.silenced && ctx.Err() == nil:
		b.o.Log.Warn().Err(err).Msgf("the heartbeat was not taken; if the broker speaks of a permissions violation, the credentials are not "+
			"those of %s: flotilla member enrol %s > %s.token", b.o.Member, b.o.Member, b.o.Member)
	}
	b.silenced = err != nil
	if now := b.o.Hub.Now(); err == nil {
		b.stored.Store(&now)
	}
}

// Stored is when the newest heartbeat was stored that was; zero when none was yet.
func (b *Beat) Stored() time.Time {
	if at := b.stored.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

// next makes the next heartbeat from what the member says now.
func (b *Beat) next(ctx context.Context) api.Heartbeat {
	ctx, cancel := context.WithTimeout(ctx, collectTimeout)
	defer cancel()
	h := &b.last
	h.Sequence++
	h.Healthy, h.Message = true, ""
	if err := errors.Join(b.fit(), b.census(ctx, h)); err != nil {
		h.Healthy, h.Message = false, err.Error()
	}
	if b.o.Trouble != nil && h.Message == "" {
		h.Message = b.o.Trouble()
	}
	if b.o.Renewal != nil {
		h.Renewal = b.o.Renewal()
	}
	if b.o.Holds != nil {
		h.Holds = b.o.Holds()
	}
	if b.o.Forbidden != nil {
		forbidden := b.o.Forbidden()
		h.Forbidden = forbidden[:min(len(forbidden), maxForbidden)]
	}
	if b.o.Unlisted != nil {
		unlisted := b.o.Unlisted()
		h.Unlisted = unlisted[:min(len(unlisted), maxNames)]
	}
	return *h
}

func (b *Beat) fit() error {
	if b.o.Fit == nil {
		return nil
	}
	return b.o.Fit()
}

// census fills in what the member says of itself; what could not be read stays as it was.
func (b *Beat) census(ctx context.Context, h *api.Heartbeat) error {
	if err := b.o.Target.Ready(ctx); err != nil {
		return err
	}
	version, err := b.o.Target.Version(ctx)
	if err != nil {
		return err
	}
	nodes, err := b.o.Target.Nodes(ctx)
	if err != nil {
		return err
	}
	h.KubernetesVersion, h.Nodes = version, len(nodes)
	b.describe(h, nodes)
	if !b.o.Namespaces {
		return nil
	}
	namespaces, err := b.o.Target.Namespaces(ctx)
	if err != nil {
		return err
	}
	h.Namespaces = namespaces[:min(len(namespaces), maxNames)]
	return nil
}

// describe fills in what the nodes say of their member, and what is said beside them.
func (b *Beat) describe(h *api.Heartbeat, nodes []target.Node) {
	if b.o.Price != nil {
		for i := range nodes {
			nodes[i].Price = cmp.Or(nodes[i].Price, b.o.Price(&nodes[i]))
		}
	}
	h.Labels, h.Properties = Whereabouts(nodes), Properties(nodes)
	maps.Copy(h.Labels, b.o.Labels)
	if b.o.Observed != nil {
		maps.Copy(h.Properties, b.o.Observed())
	}
	maps.Copy(h.Properties, b.o.Properties)
}
