package disruptor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/disruption"
	"flotilla/core/orchestration"
	"flotilla/core/simulate"
)

// tries bounds how often a request is decided again after the records changed under it.
const tries = 3

// look shows the state of a member as a decision would find it now. The state is see's until it returns.
func (d *Disruptor) look(ctx context.Context, name string, see func(*simulate.State) error) error {
	return d.lookInto(ctx, name, nil, func(in orchestration.StepInput, _ []string) error { return see(orchestration.StateOf(in)) })
}

// lookInto shows all that a pass over a member would decide on now, or if some of it were as supposed, nil for
// nothing, with notes about that; it is see's until it returns.
func (d *Disruptor) lookInto(ctx context.Context, name string, as *supposed, see func(orchestration.StepInput, []string) error) error {
	m, err := d.admitted(ctx, name)
	if err != nil {
		return err
	}
	if err := m.decide(ctx); err != nil {
		return err
	}
	defer m.deciding.Leave()
	thinking, end := d.thinking(ctx)
	defer end()
	err = d.show(thinking, m, as, see)
	if over := d.thought(ctx, thinking, name); over != nil {
		return over
	}
	return err
}

// show is lookInto for a member whose deciding is held; it ends with ctx.
func (d *Disruptor) show(ctx context.Context, m *memberState, as *supposed, see func(orchestration.StepInput, []string) error) error {
	d.fold(m)
	s, err := d.gather(ctx, m)
	if err != nil {
		return err
	}
	var notes []string
	if as != nil {
		if notes, err = d.suppose(ctx, m, s, as); err != nil {
			return err
		}
	}
	d.share(m, s)
	s.in.State.Ended = ended(ctx)
	return see(s.in, notes)
}

// ready errs while the records or what agents told are being read.
func (d *Disruptor) ready() error {
	if d.synced() && d.feed.Synced() {
		return nil
	}
	return notReady(bus.ErrNotSynced)
}

func notReady(why error) *api.Failure {
	return &api.Failure{Code: api.CodeUnavailable, Message: "the hub is not ready: " + why.Error(), Next: "flotilla status"}
}

// admitted is a member of the fleet that somebody asks for.
func (d *Disruptor) admitted(ctx context.Context, name string) (*memberState, error) {
	if err := d.ready(); err != nil {
		return nil, err
	}
	_, _, found, err := d.records.members.Find(name)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, &api.Failure{Code: api.CodeNotFound, Message: fmt.Sprintf("there is no member %q", name), Next: "flotilla get members"}
	}
	m := d.roster.get(name)
	d.ask(ctx, m)
	return m, nil
}

// decision is the newest that was made about a member, the zero value when none was.
func (d *Disruptor) decision(name string) disruption.Decision {
	if newest := d.roster.get(name).decision.Load(); newest != nil {
		return *newest
	}
	return disruption.Decision{}
}

// record is what is being done on a member, and was lately.
func (d *Disruptor) record(name string) api.DisruptionRecord {
	record, _, _ := d.records.disruptions.Get(name)
	return record
}

// waitingOn are the commands of a member that wait for their validation.
func (d *Disruptor) waitingOn(name string) []orchestration.Waiting {
	return slices.Clone(d.roster.get(name).waits())
}

// fleetBudget is one budget over all members whose pools share it (N11).
type fleetBudget struct {
	Name string
	// Nodes is the number or percentage that counts, Pools are those that share it.
	Nodes             string
	Pools             []string
	Total, Disrupting int
	// Left is how many more nodes may go.
	Left int
}

// fleetBudgets are all there are, sorted by name. They leave nothing while a pool cannot be read that may
// share them.
func (d *Disruptor) fleetBudgets() ([]fleetBudget, error) {
	shared, whole := d.provisioning.shared()
	var out []fleetBudget
	for i := range shared {
		b := &shared[i]
		one := fleetBudget{Name: b.Name, Pools: b.Pools}
		counts := d.fleet.counted(b, "", nil)
		for _, c := range counts {
			one.Total += c.Total
			one.Disrupting += c.Disrupting
		}
		var err error
		if one.Nodes, one.Left, err = disruption.SharedAllowed(b, counts); err != nil {
			return nil, err
		}
		if !whole {
			one.Left = 0
		}
		out = append(out, one)
	}
	return out, nil
}

// deleteNode begins to drain and delete a node, whatever budgets say, and returns the disruption that
// does it. A request that comes again, and a node that is going already, answer what goes on.
func (d *Disruptor) deleteNode(ctx context.Context, name, node, request string) (api.Disruption, error) {
	m, err := d.admitted(ctx, name)
	if err != nil {
		return api.Disruption{}, err
	}
	if _, state, _, err := d.records.labels(name); err == nil && state == api.MemberLeaving {
		return api.Disruption{}, &api.Failure{
			Code: api.CodeRefused, Message: fmt.Sprintf("member %s leaves the fleet: its agent leaves nodes alone from now on", name),
			Next: "kubectl --context " + name + " delete node " + node,
		}
	}
	if frozen := d.records.frozen(name); frozen != "" {
		return api.Disruption{}, &api.Failure{Code: api.CodeRefused, Message: frozen, Next: "flotilla status"}
	}
	if err := m.decide(ctx); err != nil {
		return api.Disruption{}, err
	}
	defer m.deciding.Leave()
	var out *orchestration.StepResult
	for range tries {
		if out, _, err = d.step(ctx, m, []orchestration.Deletion{{Node: node, Request: request}}); !errors.Is(err, bus.ErrConflict) {
			break
		}
	}
	d.queue.Add(name)
	switch {
	case errors.Is(err, bus.ErrConflict), errors.Is(err, bus.ErrDeposed):
		return api.Disruption{}, notReady(err)
	case err != nil:
		return api.Disruption{}, err
	case out.Deletions[node].Refused != "":
		return api.Disruption{}, &api.Failure{Code: api.CodeRefused, Message: out.Deletions[node].Refused, Next: "flotilla get nodes -m " + name}
	}
	for i := range out.Record.Disruptions {
		if one := &out.Record.Disruptions[i]; one.ID == out.Deletions[node].Disruption {
			return *one, nil
		}
	}
	return api.Disruption{}, fmt.Errorf("disruption %s of node %s is not in the record of %s", out.Deletions[node].Disruption, node, name)
}
