package enroller

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"flotilla/bus"
	"flotilla/bus/enrolments"
	"flotilla/bus/loop"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/enrolment"
	"flotilla/subjects"
)

const (
	// tries bounds how often a statement is judged again after the record changed under it.
	tries = 3
	// patience bounds how long one statement may take.
	patience = 10 * time.Second
	// tellEvery is the least time between two events of one kind about statements of one member that were refused.
	tellEvery = time.Minute
)

// Issuer signs credentials of agents.
type Issuer interface {
	// Token makes a key that may ask to enrol until life has passed.
	Token(member string, life time.Duration) (seed, key, token string, err error)
	// Sign makes the user JWT of a role for a public key; without a life it has no end.
	Sign(role, member, key string, life time.Duration) (token string, ends time.Time, err error)
}

// Options of an Enroller.
type Options struct {
	// Issuer signs credentials; nil where somebody else makes them, and agents register their keys alone.
	Issuer Issuer
	// Revoke refuses a public key of an account from now on, and cuts its connections; nil where the hub cannot.
	Revoke func(account, key string) error
	// PurgeNodes removes the states of a member's nodes; nil where nobody keeps them.
	PurgeNodes func(ctx context.Context, member string) error
	// URL is where agents connect, and CA what their servers' certificates are of, for tokens; nil: machines know.
	URL string
	CA  func() ([]byte, error)
	// Life is for how long credentials are given, api.CredentialsLife when 0.
	Life time.Duration
	// Farewell is for how long the agent of a member that left keeps its credentials, to take off its nodes what it
	// put there; 0 is not at all.
	Farewell time.Duration
	Log      zerolog.Logger
}

// Enroller gives credentials during one term of leadership.
type Enroller struct {
	store   *store.Store
	options Options
	specs   *store.Table[api.Spec]
	records *store.Records[api.Identity]
	queue   *loop.Queue
	cuts    *cuts

	// mu is held from the look at a record to the answer; it guards the fields below.
	mu sync.Mutex
	// heard are the newest serials of keys, by member.
	heard map[string]statement
	// waiting are those whose members nobody admitted yet, by member.
	waiting map[string]*enrolments.Enrolment
	// told is when a refusal was told of, by member and reason: none of one kind hides another.
	told map[string]time.Time
}

// statement is the newest of a key.
type statement struct {
	key    string
	serial int64
}

// New returns an enroller on an open store. Before Run it writes only what its verbs are asked for.
func New(leader *store.Store, o Options) *Enroller {
	o.Life = cmp.Or(o.Life, api.CredentialsLife)
	a := leader.State.As(subjects.Enroller)
	e := &Enroller{
		store: leader, options: o,
		specs:   store.Reads[api.Spec](a, subjects.MemberSpecs),
		records: store.Writes[api.Identity](a, subjects.Identities),
		heard:   map[string]statement{}, waiting: map[string]*enrolments.Enrolment{}, told: map[string]time.Time{},
	}
	e.queue = loop.New(loop.Options{Now: leader.Now, Failed: e.failed})
	e.cuts = newCuts(leader, o, e.records.Table)
	return e
}

// Run answers agents until ctx ends.
func (e *Enroller) Run(ctx context.Context) error {
	if err := e.store.State.WaitSynced(ctx); err != nil {
		return fmt.Errorf("starting to enrol: %w", err)
	}
	e.specs.OnChange(e.queue.Add)
	e.records.OnChange(func(member string) {
		e.queue.Add(member)
		e.cuts.queue.Add(member)
	})
	statements, err := enrolments.Serve(e.store.Conn, e.store.Leads, func(asked *enrolments.Enrolment) { e.hear(ctx, asked) })
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	running.Go(func() { e.cuts.queue.Run(ctx, e.cuts.work) })
	e.queue.Run(ctx, e.work)
	running.Wait()
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	statements.Stop(stopping)
	e.dismiss()
	return nil
}

// dismiss has everybody ask again who waits for a member to be admitted: another hub leads then.
func (e *Enroller) dismiss() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for member := range e.waiting {
		e.wait(member, nil)
	}
}

func (e *Enroller) failed(member string, err error, delay time.Duration) {
	e.options.Log.Warn().Err(err).Str("member", member).Dur("retry", delay).Msg("keeping the identity of a member")
}

// work looks whether a member is part of the fleet, and whether who waits for that may have its answer.
func (e *Enroller) work(ctx context.Context, member string) (time.Time, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	recheck, err := e.follow(ctx, member)
	if asked := e.waiting[member]; asked != nil {
		delete(e.waiting, member)
		e.answer(ctx, asked, 0)
	}
	return recheck, err
}

// follow writes what became of an identity because its member joined the fleet or left it; the lock is held.
func (e *Enroller) follow(ctx context.Context, member string) (time.Time, error) {
	if !e.store.State.Synced() {
		return time.Time{}, bus.ErrNotSynced
	}
	record, revision, found, err := e.records.Find(member)
	if err != nil || !found {
		return time.Time{}, err
	}
	standing, err := e.standing(member)
	if err != nil {
		return time.Time{}, err
	}
	plan := enrolment.Follow(record, standing, e.options.Farewell, e.store.Now())
	if plan.Write {
		_, err = e.store.WriteTold(ctx, e.events(member, "", plan.Events), e.records.Put(member, &plan.Record, revision))
	}
	return plan.Recheck, err
}

// standing is a member's place in the fleet: who was deleted left a note, what was lost did not.
func (e *Enroller) standing(member string) (enrolment.Standing, error) {
	_, _, admitted, err := e.specs.Find(member)
	switch {
	case err != nil:
		return enrolment.Missing, err
	case admitted:
		return enrolment.Present, nil
	case e.store.State.Gone(e.specs.Key(member)) != "":
		return enrolment.Deleted, nil
	}
	return enrolment.Missing, nil
}
