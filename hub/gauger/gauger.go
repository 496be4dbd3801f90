package gauger

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/core/fullness"
)

// defaultInterval is how often streams are looked at.
const defaultInterval = 15 * time.Second

// Options of a Gauger. The zero value is for production.
type Options struct {
	// Interval is how often streams are looked at, 15 s when 0.
	Interval time.Duration
	// Events is what each member has in stream EVENTS; nil when nobody knows.
	Events func() map[string]watch.EventUse
	// Metrics show what was seen last; nil for none.
	Metrics *Metrics
	Log     zerolog.Logger
}

// Gauger looks at the streams during one term of leadership.
type Gauger struct {
	store   *store.Store
	options Options

	mu      sync.Mutex
	filling []fullness.Filling
}

// New returns a gauger on an open store; it looks at nothing before Run.
func New(store *store.Store, o Options) *Gauger {
	if o.Interval == 0 {
		o.Interval = defaultInterval
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
	return &Gauger{store: store, options: o}
}

// Run looks until ctx ends.
func (g *Gauger) Run(ctx context.Context) error {
	defer g.options.Metrics.reset()
	tick := time.NewTicker(g.options.Interval)
	defer tick.Stop()
	for ctx.Err() == nil {
		if err := g.look(ctx); err != nil && ctx.Err() == nil {
			g.options.Log.Warn().Err(err).Msg("how full streams are is not known")
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	return nil
}

// look looks once, and tells of what began or ended.
func (g *Gauger) look(ctx context.Context) error {
	uses, err := streams.Uses(ctx, g.store.Conn)
	if err != nil {
		return err
	}
	held := g.members()
	var streams []fullness.Stream
	for _, use := range uses {
		if !use.Rolls {
			streams = append(streams, g.stream(use, held[use.Short]))
		}
	}
	g.mu.Lock()
	var events []api.Audit
	g.filling, events = fullness.Judge(g.filling, streams, g.store.Now())
	g.mu.Unlock()
	for _, e := range events {
		g.store.Audit.Record(e)
		if e.Type == "Warning" {
			g.options.Log.Warn().Str("object", e.Object).Msg(e.Message)
		}
	}
	g.options.Metrics.set(uses, held, g.store.Share())
	return nil
}

// Problems are the streams that fill up, for the screen of the fleet.
func (g *Gauger) Problems() []api.Problem {
	g.mu.Lock()
	filling := slices.Clone(g.filling)
	g.mu.Unlock()
	var problems []api.Problem
	for i := range filling {
		next := "nats stream info " + filling[i].Name
		if named := filling[i].Culprits(); len(named) > 0 {
			next = "flotilla describe member " + named[0]
		}
		problems = append(problems, api.Problem{
			Object: api.AuditObject(api.AuditStream, filling[i].Name), Reason: api.ReasonStreamFilling, Message: filling[i].Text(),
			Since: metav1.NewTime(filling[i].Since), Next: next,
		})
	}
	return problems
}
