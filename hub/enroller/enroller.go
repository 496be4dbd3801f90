package enroller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/bus/loop"
	"flotilla/core/api"
	"flotilla/core/enrolment"
	"flotilla/subjects"
)

const (
	// tries bounds how often a statement is judged again after the record changed under it.
	tries = 3
	// patience bounds how long one statement may take.
	patience = 10 * time.Second
	// tellEvery is the least time between two events about statements of one member that were refused.
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
	// URL is where agents connect, and CA what their servers' certificates are of, for tokens; nil: machines know.
	URL string
	CA  func() ([]byte, error)
	// Life is for how long credentials are given, api.CredentialsLife when 0.
	Life time.Duration
	Log  zerolog.Logger
}

// Enroller gives credentials during one term of leadership.
type Enroller struct {
	store   *bus.Store
	options Options
	specs   *bus.Table[api.Spec]
	records *bus.Table[api.Identity]
	queue   *loop.Queue
	// refused are keys that servers were told of; the queue has one worker.
	refused map[string]bool

	// mu is held from the look at a record to the answer; it guards the fields below.
	mu sync.Mutex
	// heard are the newest serials of keys, by member.
	heard map[string]statement
	// waiting are those whose members nobody admitted yet, by member.
	waiting map[string]*bus.Enrolment
	told    map[string]time.Time
}

// statement is the newest of a key.
type statement struct {
	key    string
	serial int64
}

// New returns an enroller on an open store. Before Run it writes only what its verbs are asked for.
func New(store *bus.Store, o Options) *Enroller {
	o.Life = cmp.Or(o.Life, api.CredentialsLife)
	e := &Enroller{
		store: store, options: o,
		specs:   bus.TableOf[api.Spec](store.State, subjects.MemberSpecs),
		records: bus.TableOf[api.Identity](store.State, subjects.Identities),
		refused: map[string]bool{}, heard: map[string]statement{}, waiting: map[string]*bus.Enrolment{}, told: map[string]time.Time{},
	}
	e.queue = loop.New(loop.Options{Now: store.Now, Failed: e.failed})
	return e
}

// Run answers agents until ctx ends.
func (e *Enroller) Run(ctx context.Context) error {
	if err := e.store.State.WaitSynced(ctx); err != nil {
		return fmt.Errorf("starting to enrol: %w", err)
	}
	e.specs.OnChange(e.queue.Add)
	e.records.OnChange(e.queue.Add)
	statements, err := bus.ServeEnrolments(e.store.Conn, e.store.Leads, func(asked *bus.Enrolment) { e.hear(ctx, asked) })
	if err != nil {
		return err
	}
	e.queue.Run(ctx, e.work)
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	statements.Stop(stopping)
	return nil
}

func (e *Enroller) failed(member string, err error, delay time.Duration) {
	e.options.Log.Warn().Err(err).Str("member", member).Dur("retry", delay).Msg("keeping the identity of a member")
}

// work has keys refused that are not the agent's any more, and looks whether who waits may have its answer.
func (e *Enroller) work(ctx context.Context, member string) (time.Time, error) {
	record, _, _, err := e.records.Find(member)
	if err != nil {
		return time.Time{}, err
	}
	for _, key := range record.Former {
		if err := e.refuse(member, key); err != nil {
			return time.Time{}, fmt.Errorf("refusing a former key: %w", err)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if asked := e.waiting[member]; asked != nil {
		delete(e.waiting, member)
		e.answer(ctx, asked, 0)
	}
	return time.Time{}, nil
}

// refuse has servers refuse a key, once in a term. Where they are not to be told by the hub, the log says so.
func (e *Enroller) refuse(member, key string) error {
	if e.options.Revoke == nil || e.refused[key] {
		return nil
	}
	err := e.options.Revoke(subjects.AccountAgents, key)
	if elsewhere, ok := errors.AsType[*bus.NotRevokedError](err); ok {
		e.options.Log.Warn().Str("member", member).Str("next", bus.RevokeCommand(elsewhere.Account, elsewhere.Key)).Msg(elsewhere.Error())
		err = nil
	}
	e.refused[key] = err == nil
	return err
}

// hear judges a statement and answers it.
func (e *Enroller) hear(ctx context.Context, asked *bus.Enrolment) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := int64(0)
	if last := e.heard[asked.Member]; last.key == asked.Ask.Key {
		before = last.serial
	}
	e.answer(ctx, asked, before)
}

// answer judges and answers; the lock is held.
func (e *Enroller) answer(ctx context.Context, asked *bus.Enrolment, heard int64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	answer, err := e.decide(ctx, asked, heard)
	if err != nil {
		e.options.Log.Warn().Err(err).Str("member", asked.Member).Msg("answering an agent")
		answer = &api.EnrolmentAnswer{Refused: &api.EnrolmentRefusal{Reason: "Unavailable", Message: err.Error(), Later: true}}
	}
	if answer != nil {
		asked.Answer(*answer)
	}
}

// decide is what to answer, nil when that comes later.
func (e *Enroller) decide(ctx context.Context, asked *bus.Enrolment, heard int64) (*api.EnrolmentAnswer, error) {
	for try := 1; ; try++ {
		v, revision, err := e.judge(asked, heard)
		if err != nil {
			return nil, err
		}
		if v.Refused != nil {
			e.tell(asked, v.Events)
			return &api.EnrolmentAnswer{Refused: v.Refused}, nil
		}
		if v.Write {
			key := e.records.Key(asked.Member)
			_, err = e.store.WriteTold(ctx, e.events(asked, v.Events), bus.Put(key, v.Record, revision))
		}
		if errors.Is(err, bus.ErrConflict) && try < tries {
			continue
		}
		if err != nil {
			return nil, err
		}
		e.heard[asked.Member] = statement{asked.Ask.Key, asked.Ask.Serial}
		if v.Wait {
			e.waiting[asked.Member] = asked
			return nil, nil
		}
		return e.credentials(asked, &v)
	}
}

func (e *Enroller) judge(asked *bus.Enrolment, heard int64) (enrolment.Verdict, uint64, error) {
	if !e.store.State.Synced() {
		return enrolment.Verdict{}, 0, bus.ErrNotSynced
	}
	_, _, admitted, err := e.specs.Find(asked.Member)
	if err != nil {
		return enrolment.Verdict{}, 0, err
	}
	record, revision, found, err := e.records.Find(asked.Member)
	if err != nil {
		return enrolment.Verdict{}, 0, err
	}
	in := enrolment.Input{
		Member: asked.Member, Admitted: admitted, Ask: &asked.Ask, Heard: heard, Life: e.options.Life, Now: e.store.Now(),
	}
	if found {
		in.Record = &record
	}
	return enrolment.Judge(in), revision, nil
}

// credentials are what a verdict gives, signed.
func (e *Enroller) credentials(asked *bus.Enrolment, v *enrolment.Verdict) (*api.EnrolmentAnswer, error) {
	answer := &api.EnrolmentAnswer{Role: v.Role}
	if e.options.Issuer == nil {
		return answer, nil
	}
	answer.Holds = metav1.Duration{Duration: v.Ends.Sub(e.store.Now())}
	var err error
	if answer.Credentials, _, err = e.options.Issuer.Sign(v.Role, asked.Member, asked.Ask.Key, answer.Holds.Duration); err != nil {
		return nil, err
	}
	answer.Returning, _, err = e.options.Issuer.Sign(subjects.RoleEnrolling, asked.Member, asked.Ask.Key, 0)
	return answer, err
}

// tell tells of a refusal, unless that was done a moment ago.
func (e *Enroller) tell(asked *bus.Enrolment, events []api.Audit) {
	now := e.store.Now()
	if len(events) == 0 || now.Sub(e.told[asked.Member]) < tellEvery {
		return
	}
	e.told[asked.Member] = now
	for _, event := range e.events(asked, events) {
		e.store.Audit.Record(event)
	}
}

func (e *Enroller) events(asked *bus.Enrolment, events []api.Audit) []api.Audit {
	for i := range events {
		events[i].Header, events[i].At = api.NewHeader(api.KindAudit), metav1.NewTime(e.store.Now())
		events[i].Object, events[i].Member = subjects.KindMember+"/"+asked.Member, asked.Member
		events[i].By, events[i].From = "enroller", asked.Address
	}
	return events
}
