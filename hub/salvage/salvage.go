package salvage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/subjects"
)

// next is what to do about damage.
const next = "restore with `flotilla restore FILE`, or go on without them with `flotilla restore --accept-loss`"

// Options of a Salvage.
type Options struct {
	Replica string // of the hub, for people
	Version string // of the hub
	// Patience is how long a hub that could lead waits for the next step of a restore, a minute when 0.
	Patience time.Duration
	// Revoked says that servers refuse a key of an account; nil where nobody knows.
	Revoked func(account, key string) bool
	Log     zerolog.Logger
}

// Salvage answers requests on behalf of a hub that holds the lease and does not lead.
type Salvage struct {
	store   *store.Store
	options Options
	since   metav1.Time

	deciding sync.Mutex
	decided  chan struct{} // closed once state is whole again
	answer   *api.RestoreResponse
	incoming *incoming
	patience *patience
}

const defaultPatience = time.Minute

// lingers is far longer than a client waits before it asks again.
const lingers = time.Second

// New returns a salvage of a store that is damaged, or to be restored; it answers nothing before Run.
func New(store *store.Store, o Options) *Salvage {
	o.Patience = cmp.Or(o.Patience, defaultPatience)
	return &Salvage{store: store, options: o, since: metav1.NewTime(store.Now()), decided: make(chan struct{}), patience: newPatience(o.Patience)}
}

// Run answers requests until ctx ends, or state is whole again. Where it is not damaged, Run ends when the last
// step of a restore is longer ago than Options.Patience, and soon after one was refused: others wait to write.
func (s *Salvage) Run(ctx context.Context) error {
	service, err := bus.Serve(context.WithoutCancel(ctx), s.store.Conn, bus.ServiceOptions{
		Replica: s.options.Replica, Leads: s.store.Leads, Keys: s.store.Keys, OfHubs: s.verbsOfHubs(),
	}, s.verbs())
	if err != nil {
		return fmt.Errorf("serving what is left: %w", err)
	}
	defer service.Stop()
	silence := time.NewTimer(s.options.Patience)
	defer silence.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.decided:
			s.linger(ctx)
			return nil
		case <-s.patience.heard:
		case <-silence.C:
			if s.store.Damage == nil && s.patience.giveUp() {
				s.options.Log.Warn().Msg("the restore does not go on: nothing was changed")
				return nil
			}
		}
		silence.Reset(s.patience.left())
	}
}

// linger goes on to answer for a moment: who asked when this hub had just begun to answer asks again, and is to be
// told what was done rather than, by whoever leads next, that there is nothing to be done.
func (s *Salvage) linger(ctx context.Context) {
	over := time.NewTimer(lingers)
	defer over.Stop()
	select {
	case <-ctx.Done():
	case <-over.C:
	}
}

// verbs are those that say what is wrong or mend it; all others need a whole state.
func (s *Salvage) verbs() map[string]bus.Handler {
	verbs := map[string]bus.Handler{}
	for _, v := range api.VerbTable() {
		verbs[v.Verb] = s.refuse
	}
	verbs[api.VerbStatus] = func(context.Context, api.Caller, []byte) (any, error) { return s.status(), nil }
	verbs[api.VerbVersion] = func(context.Context, api.Caller, []byte) (any, error) { return s.version(), nil }
	verbs[api.VerbBackup] = newBackups(s.store).answer
	verbs[api.VerbRaw] = s.raw
	for verb, handler := range verbs {
		verbs[verb] = s.withCaller(s.untilDecided(handler))
	}
	verbs[api.VerbRestore] = s.withCaller(s.restore)
	return verbs
}

// verbsOfHubs are those about who was let in: nobody looks at the page, or asks the Kubernetes API, meanwhile.
func (s *Salvage) verbsOfHubs() map[string]bus.Handler {
	verbs := map[string]bus.Handler{}
	for _, verb := range []string{api.VerbEnter, api.VerbSession, api.VerbLeave} {
		verbs[verb] = s.untilDecided(s.refuse)
	}
	return verbs
}

func (s *Salvage) refuse(context.Context, api.Caller, []byte) (any, error) { return nil, s.refusal() }

// untilDecided leaves to who leads next what is asked once state is whole again.
func (s *Salvage) untilDecided(handler bus.Handler) bus.Handler {
	return func(ctx context.Context, by api.Caller, body []byte) (any, error) {
		select {
		case <-s.decided:
			return nil, &api.Failure{Code: api.CodeUnavailable, Message: "state is whole again, and nobody leads yet: ask again"}
		default:
			return handler(ctx, by, body)
		}
	}
}

// raw reads a record as it is stored, so that people can see what is left.
func (s *Salvage) raw(ctx context.Context, _ api.Caller, body []byte) (any, error) {
	var request api.RawRequest
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, unreadable(err)
	}
	value, err := bus.RawRecord(ctx, s.store.Conn, request.Bucket, request.Key)
	if err != nil {
		return nil, err
	}
	return &api.RawResponse{Value: value}, nil
}

// damage is what state has lost, empty when it is whole.
func (s *Salvage) damage() string {
	if s.store.Damage == nil {
		return ""
	}
	return s.store.Damage.String()
}

func (s *Salvage) refusal() error {
	if s.store.Damage == nil {
		return &api.Failure{Code: api.CodeUnavailable, Message: "state is being restored: ask again"}
	}
	return &api.Failure{
		Code: api.CodeDamaged, Message: fmt.Sprintf("%s: %s; nothing is decided until that is mended", bus.ErrDamaged, s.store.Damage), Next: next,
	}
}

// status is what is left of the fleet, and what is gone.
func (s *Salvage) status() *api.FleetStatus {
	damage := s.damage()
	fleet := &api.FleetStatus{
		Fleet: s.store.Conn.Fleet.Name, Leader: s.store.Term.Holder, Term: s.store.Term.Term, Members: map[string]int{},
		Placements: len(s.store.State.Keys(subjects.PlacementSpecs.Prefix())), Damage: damage,
	}
	problem := api.Problem{Object: "fleet/state", Reason: "Restoring", Since: s.since, Message: "state is being restored", Next: "flotilla status"}
	if damage != "" {
		problem.Reason, problem.Next = api.ReasonStateDamaged, "flotilla restore --help"
		problem.Message = fmt.Sprintf("%s: %s; %s", bus.ErrDamaged, damage, next)
	}
	fleet.Problems = []api.Problem{problem}
	a := s.store.State.As(subjects.Salvage)
	for _, member := range store.Reads[api.MemberRecord](a, subjects.Members).All() {
		fleet.Members[string(member.Value.State)]++
	}
	for _, schedule := range store.Reads[api.Schedule](a, subjects.Schedules).All() {
		fleet.Bindings += len(schedule.Value.Bindings)
	}
	return fleet
}

func (s *Salvage) version() *api.VersionResponse {
	return &api.VersionResponse{
		Version: s.options.Version, Level: api.Level, Fleet: s.store.Conn.Fleet.Name, Leader: s.store.Term.Holder,
		Epoch: s.store.Term.Epoch, Term: s.store.Term.Term, Server: s.store.Conn.NC.ConnectedServerVersion(), Now: metav1.NewTime(s.store.Now()),
	}
}

// restore decides how to go on. A request that is repeated gets the first answer.
func (s *Salvage) restore(ctx context.Context, by api.Caller, body []byte) (answer any, err error) {
	var request api.RestoreRequest
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, unreadable(err)
	}
	s.deciding.Lock()
	defer s.deciding.Unlock()
	if !s.patience.begin() {
		return nil, &api.Failure{Code: api.CodeUnavailable, Message: "the restore did not go on, and the hub begins to lead again: ask again"}
	}
	defer func() {
		failure, is := errors.AsType[*api.Failure](err)
		s.patience.end(is && failure.Code == api.CodeInvalid && (s.incoming == nil || s.incoming.session == request.Session))
	}()
	switch {
	case s.answer != nil:
		return s.answer, nil
	case !request.AcceptLoss:
		return s.receive(ctx, by, &request)
	case s.store.Damage == nil:
		return nil, s.refusal()
	case s.store.Damage.Interrupted:
		return nil, &api.Failure{
			Code: api.CodeRefused, Message: "a restore was broken off: what is left is part of the state before it and part of the backup", Next: "flotilla restore --help",
		}
	}
	return s.acceptLoss(ctx, by)
}
