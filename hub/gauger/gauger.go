package gauger

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/disk"
	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/core/fullness"
	"flotilla/subjects"
)

// defaultInterval is how often streams are looked at.
const defaultInterval = 15 * time.Second

// Options of a Gauger. The zero value is for production.
type Options struct {
	// Interval is how often streams are looked at, 15 s when 0.
	Interval time.Duration
	// Records is how many bytes of memory all records may take: DefaultRecords when 0, without limit when negative.
	Records int64
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
	names   map[string]string // of servers, by what they call each other

	mu      sync.Mutex
	records disk.Room
	filling []fullness.Filling
	away    []fullness.Away
}

// New returns a gauger on an open store; it looks at nothing before Run.
func New(store *store.Store, o Options) *Gauger {
	if o.Interval == 0 {
		o.Interval = defaultInterval
	}
	if o.Records == 0 {
		o.Records = DefaultRecords
	}
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
	return &Gauger{store: store, options: o, names: map[string]string{}}
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

// look looks once, and tells of what began or ended. An error is of streams that did not answer; the others were looked at.
func (g *Gauger) look(ctx context.Context) error {
	uses, failed := streams.Uses(ctx, g.store.Conn)
	uses = append(uses, g.inMemory())
	held := g.members()
	var streams []fullness.Stream
	for _, use := range uses {
		streams = append(streams, g.stream(use, held[use.Short]))
	}
	now := g.store.Now()
	g.mu.Lock()
	for _, use := range uses {
		if use.Short == subjects.State {
			g.records = roomOf(use)
		}
	}
	var events, lost []api.Audit
	g.filling, events = fullness.Judge(g.filling, streams, now)
	g.away, lost = fullness.JudgeReplicas(g.away, streams, now)
	g.mu.Unlock()
	events = append(events, lost...)
	for _, e := range events {
		g.store.Audit.Record(e)
		if e.Type == "Warning" {
			g.options.Log.Warn().Str("object", e.Object).Msg(e.Message)
		}
	}
	g.options.Metrics.set(uses, held, g.store.Share())
	return failed
}

// reserved is the part of the stream of records that is kept for what stops, ends or removes something.
const reserved = 8

// roomOf is the room that a stream has.
func roomOf(use streams.Use) disk.Room {
	return disk.Room{Where: "stream " + use.Name, Look: "nats stream info " + use.Name, Free: use.MostBytes - use.Bytes, Total: use.MostBytes, Reserve: use.MostBytes / reserved}
}

// Room is the room that the records of the fleet had at the last look; enough before the first.
func (g *Gauger) Room() disk.Room {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.records
}

// Problems are the streams that fill up and the servers without their replicas, for the screen of the fleet.
func (g *Gauger) Problems() []api.Problem {
	g.mu.Lock()
	filling, away := slices.Clone(g.filling), slices.Clone(g.away)
	g.mu.Unlock()
	var problems []api.Problem
	for i := range filling {
		next := "nats stream info " + filling[i].Name
		if filling[i].Name == InMemory {
			next = lookAtRecords
		}
		if named := filling[i].Culprits(); len(named) > 0 {
			next = "flotilla describe member " + named[0]
		}
		problems = append(problems, api.Problem{
			Object: api.AuditObject(api.AuditStream, filling[i].Name), Reason: api.ReasonStreamFilling, Message: filling[i].Text(),
			Since: metav1.NewTime(filling[i].Since), Next: next,
		})
	}
	for i := range away {
		if away[i].Told {
			problems = append(problems, api.Problem{
				Object: api.AuditObject(api.AuditServer, away[i].Server), Reason: api.ReasonReplicasAway, Message: away[i].Text(),
				Since: metav1.NewTime(away[i].Since), Next: "nats server report jetstream",
			})
		}
	}
	return problems
}
