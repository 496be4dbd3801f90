package salvage

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/rs/zerolog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/subjects"
)

// next is what to do about damage.
const next = "restore with `flotilla restore FILE`, or go on without them with `flotilla restore --accept-loss`"

// Options of a Salvage.
type Options struct {
	Replica string // of the hub, for people
	Version string // of the hub
	Log     zerolog.Logger
}

// Salvage answers requests on behalf of a hub that holds the lease and does not lead.
type Salvage struct {
	store   *bus.Store
	options Options
	since   metav1.Time

	deciding sync.Mutex
	decided  chan struct{} // closed once state is whole again
	answer   *api.RestoreResponse
}

// New returns a salvage of a store that is damaged; it answers nothing before Run.
func New(store *bus.Store, o Options) *Salvage {
	return &Salvage{store: store, options: o, since: metav1.NewTime(store.Now()), decided: make(chan struct{})}
}

// Run answers requests until ctx ends, or state is whole again.
func (s *Salvage) Run(ctx context.Context) error {
	service, err := bus.Serve(context.WithoutCancel(ctx), s.store.Conn, bus.ServiceOptions{
		Replica: s.options.Replica, Leads: s.store.Leads,
	}, s.verbs())
	if err != nil {
		return fmt.Errorf("serving what is left: %w", err)
	}
	defer service.Stop()
	select {
	case <-ctx.Done():
	case <-s.decided:
	}
	return nil
}

// verbs are those that say what is wrong or mend it; all others need a whole state.
func (s *Salvage) verbs() map[string]bus.Handler {
	verbs := map[string]bus.Handler{}
	for _, v := range api.VerbTable() {
		verbs[v.Verb] = func(context.Context, api.Caller, []byte) (any, error) { return nil, s.refusal() }
	}
	verbs[api.VerbStatus] = func(context.Context, api.Caller, []byte) (any, error) { return s.status(), nil }
	verbs[api.VerbVersion] = func(context.Context, api.Caller, []byte) (any, error) { return s.version(), nil }
	verbs[api.VerbRestore] = s.restore
	return verbs
}

func (s *Salvage) refusal() error {
	return &api.Failure{
		Code: api.CodeDamaged, Message: fmt.Sprintf("%s: %s; nothing is decided until that is mended", bus.ErrDamaged, s.store.Damage), Next: next,
	}
}

// status is what is left of the fleet, and what is gone.
func (s *Salvage) status() *api.FleetStatus {
	damage := s.store.Damage.String()
	fleet := &api.FleetStatus{
		Fleet: s.store.Conn.Fleet.Name, Leader: s.store.Term.Holder, Term: s.store.Term.Term, Members: map[string]int{},
		Placements: len(s.store.State.Keys(subjects.PlacementSpecs.Prefix())), Damage: damage,
		Problems: []api.Problem{{
			Object: "fleet/state", Reason: api.ReasonStateDamaged, Since: s.since, Next: "flotilla restore FILE",
			Message: fmt.Sprintf("%s: %s; %s", bus.ErrDamaged, damage, next),
		}},
	}
	for _, member := range bus.TableOf[api.MemberRecord](s.store.State, subjects.Members).All() {
		fleet.Members[string(member.Value.State)]++
	}
	for _, schedule := range bus.TableOf[api.Schedule](s.store.State, subjects.Schedules).All() {
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
func (s *Salvage) restore(ctx context.Context, _ api.Caller, body []byte) (any, error) {
	var request api.RestoreRequest
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, &api.Failure{Code: api.CodeInvalid, Message: "reading the request: " + err.Error()}
	}
	s.deciding.Lock()
	defer s.deciding.Unlock()
	if s.answer != nil {
		return s.answer, nil
	}
	if !request.AcceptLoss {
		return nil, s.refusal()
	}
	return s.acceptLoss(ctx)
}
