package registrar

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"flotilla/bus/loop"
	"flotilla/bus/store"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/core/liveness"
	"flotilla/core/pace"
	"flotilla/subjects"
)

// workers is how many members are looked at at once.
const workers = 4

// behind is when a member is looked at again whose caches were behind.
const behind = time.Second

// Options of a Registrar. The zero value is for production.
type Options struct {
	// Thresholds are liveness.DefaultThresholds where they are 0.
	Thresholds liveness.Thresholds
	// Runs is told of every key that is looked at; nil tells nobody.
	Runs func(key string)
	Log  zerolog.Logger
}

// Registrar keeps the records of members during one term of leadership.
type Registrar struct {
	store      *store.Store
	options    Options
	specs      *store.Table[api.Spec]
	records    *store.Records[api.MemberRecord]
	identities *store.Table[api.Identity]
	heartbeats *watch.Values[api.Heartbeat]
	queue      *loop.Queue

	mu     sync.Mutex
	known  map[string]*known // by member, of this process
	parsed watch.Parsed[*api.MemberCluster]
}

// New returns a registrar on an open store; it writes nothing before Run.
func New(leader *store.Store, o Options) *Registrar {
	fallback := liveness.DefaultThresholds()
	for _, t := range []struct{ at, or *time.Duration }{
		{&o.Thresholds.Timeout, &fallback.Timeout}, {&o.Thresholds.Grace, &fallback.Grace}, {&o.Thresholds.Properties, &fallback.Properties},
	} {
		if *t.at == 0 {
			*t.at = *t.or
		}
	}
	if o.Thresholds.Changes == (pace.Rate{}) {
		o.Thresholds.Changes = fallback.Changes
	}
	a := leader.State.As(subjects.Registrar)
	r := &Registrar{
		store: leader, options: o,
		specs:      store.Reads[api.Spec](a, subjects.MemberSpecs),
		records:    store.Writes[api.MemberRecord](a, subjects.Members),
		identities: store.Reads[api.Identity](a, subjects.Identities),
		heartbeats: watch.ValuesOf[api.Heartbeat](leader.Heartbeats),
		known:      map[string]*known{},
	}
	r.queue = loop.New(loop.Options{Workers: workers, Now: leader.Now, Failed: r.failed, Runs: o.Runs})
	return r
}

// Run keeps records until ctx ends.
func (r *Registrar) Run(ctx context.Context) error {
	if err := r.store.State.WaitSynced(ctx); err != nil {
		return fmt.Errorf("starting to keep records of members: %w", err)
	}
	if err := r.store.Heartbeats.WaitSynced(ctx); err != nil {
		return fmt.Errorf("starting to keep records of members: %w", err)
	}
	r.specs.OnChange(r.queue.Add)
	r.records.OnChange(r.queue.Add)
	r.identities.OnChange(r.queue.Add)
	r.store.Heartbeats.OnChange(r.queue.Add)
	r.queue.Run(ctx, r.work)
	return nil
}

func (r *Registrar) failed(member string, err error, delay time.Duration) {
	r.options.Log.Warn().Err(err).Str("member", member).Dur("retry", delay).Msg("keeping the record of a member")
}

// work gathers what is known of a member, decides, and acts.
func (r *Registrar) work(ctx context.Context, member string) (time.Time, error) {
	if subjects.CheckLabel("member", member) != nil {
		return time.Time{}, nil
	}
	if !r.store.State.Synced() || !r.store.Heartbeats.Synced() {
		return r.store.Now().Add(behind), nil
	}
	in, revision, err := r.gather(member)
	if err != nil {
		return time.Time{}, err
	}
	plan := liveness.Record(in)
	return r.act(ctx, member, revision, plan)
}

func (r *Registrar) gather(member string) (liveness.Input, uint64, error) {
	now := r.store.Now()
	in := liveness.Input{Name: member, Thresholds: r.options.Thresholds, Now: now, ReadableSince: r.store.Heartbeats.ReadableSince()}
	spec, at, found, err := r.specs.Find(member)
	if err != nil {
		return in, 0, err
	}
	if found {
		in.Spec, err = r.parsed.Of(member, at, func() (*api.MemberCluster, error) { return api.SpecOf[api.MemberCluster](&spec) })
		if err != nil {
			return in, 0, err
		}
	}
	identity, _, known, err := r.identities.Find(member)
	if err != nil {
		return in, 0, err
	}
	if known {
		in.Identity = &identity
	}
	heartbeat, entry := r.heartbeats.Get(member)
	if entry.Sequence != 0 {
		in.Heartbeat, in.Garbled, in.Age = heartbeat, heartbeat == nil, r.store.Heartbeats.Age(entry, now)
	}
	record, revision, found, err := r.records.Find(member)
	if err != nil && heartbeat == nil { // else a heartbeat says anew all that the record held
		return in, 0, err
	}
	if found {
		in.Previous = &record
	}
	r.recall(&in)
	return in, revision, nil
}

func (r *Registrar) act(ctx context.Context, member string, revision uint64, plan liveness.Plan) (time.Time, error) {
	switch {
	case plan.Remove:
		if err := r.remove(ctx, member, revision, plan.Events); err != nil {
			return time.Time{}, err
		}
		return r.forget(member, plan.Following, r.store.Now()), nil
	case plan.Write:
		if _, err := r.store.WriteTold(ctx, plan.Events, r.records.Share(member, &plan.Record, revision)); err != nil {
			return time.Time{}, err
		}
	default:
		r.store.Audit.Record(plan.Events...)
	}
	r.did(member, &plan)
	return plan.Recheck, nil
}

// remove takes away what is left of a member that neither a user nor an agent speaks for.
func (r *Registrar) remove(ctx context.Context, member string, revision uint64, events []api.Audit) error {
	if revision != 0 {
		if _, err := r.store.WriteTold(ctx, events, r.records.Delete(member, revision)); err != nil {
			return err
		}
	}
	if err := r.store.Heartbeats.Purge(ctx, member); err != nil {
		return fmt.Errorf("removing the heartbeat: %w", err)
	}
	if err := r.store.Inventories.Purge(ctx, member); err != nil {
		return fmt.Errorf("removing the inventory: %w", err)
	}
	return r.store.ResultBatches.PurgeMember(ctx, member)
}
