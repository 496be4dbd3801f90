package registrar

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/loop"
	"flotilla/bus/store"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/core/liveness"
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

	mu      sync.Mutex
	written map[string]time.Time // by member, of this process
	garbled map[string]bool      // members whose newest heartbeat could not be read
	boots   map[string]*liveness.Boots
	parsed  watch.Parsed[*api.MemberCluster]
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
	a := leader.State.As(subjects.Registrar)
	r := &Registrar{
		store: leader, options: o,
		specs:      store.Reads[api.Spec](a, subjects.MemberSpecs),
		records:    store.Writes[api.MemberRecord](a, subjects.Members),
		identities: store.Reads[api.Identity](a, subjects.Identities),
		heartbeats: watch.ValuesOf[api.Heartbeat](leader.Heartbeats),
		written:    map[string]time.Time{}, garbled: map[string]bool{}, boots: map[string]*liveness.Boots{},
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
	in := liveness.Input{
		Name: member, Thresholds: r.options.Thresholds, Now: now,
		ReadableSince: r.store.Heartbeats.ReadableSince(), Written: r.lastWritten(member),
	}
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
	if heartbeat != nil {
		in.Heartbeat, in.Age = heartbeat, r.store.Heartbeats.Age(entry, now)
		in.DoubledUntil = r.hear(member, heartbeat, now.Add(-in.Age))
	}
	record, revision, found, err := r.records.Find(member)
	if err != nil && heartbeat == nil { // else a heartbeat says anew all that the record held
		return in, 0, err
	}
	if found {
		in.Previous = &record
	}
	r.noteGarbled(member, heartbeat == nil && entry.Sequence != 0)
	return in, revision, nil
}

// hear notes which start of its agent a heartbeat is of, and returns until when two agents count as speaking for the member.
func (r *Registrar) hear(member string, h *api.Heartbeat, at time.Time) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	boots := r.boots[member]
	if boots == nil {
		boots = &liveness.Boots{}
		r.boots[member] = boots
	}
	boots.Hear(h, at)
	return boots.DoubledUntil(r.options.Thresholds.Timeout)
}

func (r *Registrar) act(ctx context.Context, member string, revision uint64, plan liveness.Plan) (time.Time, error) {
	if plan.Remove {
		return time.Time{}, r.remove(ctx, member, revision, plan.Events)
	}
	if !plan.Write {
		return plan.Recheck, nil
	}
	_, err := r.store.WriteTold(ctx, plan.Events, r.records.Share(member, &plan.Record, revision))
	if err != nil {
		return time.Time{}, err
	}
	r.wrote(member)
	return plan.Recheck, nil
}

// remove takes away what is left of a member that neither a user nor an agent speaks for.
func (r *Registrar) remove(ctx context.Context, member string, revision uint64, events []api.Audit) error {
	if revision != 0 {
		if _, err := r.store.WriteTold(ctx, events, r.records.Delete(member, revision)); err != nil {
			return err
		}
	}
	r.forget(member)
	if err := r.store.Heartbeats.Purge(ctx, member); err != nil {
		return fmt.Errorf("removing the heartbeat: %w", err)
	}
	if err := r.store.Inventories.Purge(ctx, member); err != nil {
		return fmt.Errorf("removing the inventory: %w", err)
	}
	return r.store.ResultBatches.PurgeMember(ctx, member)
}

func (r *Registrar) lastWritten(member string) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.written[member]
}

func (r *Registrar) wrote(member string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written[member] = r.store.Now()
}

func (r *Registrar) forget(member string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.written, member)
	delete(r.boots, member)
	delete(r.garbled, member)
	r.parsed.Drop(member)
}

// noteGarbled tells once for each run of unreadable heartbeats that an agent cannot be understood.
func (r *Registrar) noteGarbled(member string, garbled bool) {
	r.mu.Lock()
	told := r.garbled[member]
	r.garbled[member] = garbled
	r.mu.Unlock()
	if told || !garbled {
		return
	}
	r.store.Audit.Record(api.Audit{
		Header: api.NewHeader(api.KindAudit), At: metav1.NewTime(r.store.Now()), Object: subjects.KindMember + "/" + member, Member: member,
		Type: "Warning", Reason: "HeartbeatUnreadable", By: "registrar",
		Message: "its heartbeat cannot be decoded and counts as none; check the version of its agent",
	})
}
