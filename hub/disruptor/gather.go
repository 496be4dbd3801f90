package disruptor

import (
	"cmp"
	"context"
	"slices"
	"time"

	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
	"flotilla/core/orchestration"
	"flotilla/core/simulate"
)

// situation is what a pass over a member depends on.
type situation struct {
	in       orchestration.StepInput
	revision uint64
	pools    memberPools
	grounds  grounds
	// own are the nodes of the member that fleet-wide budgets count, without those of commands that wait.
	own map[string]disruption.PoolShare
	// unknown says why the nodes cannot be counted.
	unknown string
}

// gather collects what is known around a member; its deciding is held.
func (d *Disruptor) gather(ctx context.Context, m *memberState) (*situation, error) {
	s := &situation{in: orchestration.StepInput{Member: m.name, Wait: d.options.ValidationWait, Waiting: m.waits()}}
	record, revision, _, err := d.records.disruptions.Find(m.name)
	if err != nil {
		return nil, err
	}
	s.in.Record, s.revision = record, revision
	s.in.State = simulate.State{Cluster: m.View.Cluster, Now: d.options.Now(), Rules: d.options.Rules}
	s.in.Results = d.records.resultsOf(&record)
	labels, state, found, err := d.records.labels(m.name)
	if err != nil {
		return nil, err
	}
	s.in.Left = !found
	s.pools = d.provisioning.of(ctx, labels)
	s.in.State.Pools = slices.Concat(s.pools.parsed, d.endingOn(m, &s.pools))
	s.unknown = d.unknown(m)
	s.in.State.Stale = s.unknown
	s.in.Declined = d.feed.Synced() && m.View.Declined()
	s.in.Hold = cmp.Or(d.hold(m.name, state), m.Skewed(), s.pools.fault)
	s.in.Lock = d.lockOf(m)
	return s, nil
}

// endingOn are pools that are being deleted and select a member no more, but have nodes there.
func (d *Disruptor) endingOn(m *memberState, o *memberPools) (out []*capacity.Pool) {
	if len(o.ending) == 0 {
		return nil
	}
	there := disruption.CountPools(&simulate.State{Cluster: m.View.Cluster})
	for _, p := range o.ending {
		if there[p.Name].Nodes > 0 {
			out = append(out, p)
		}
	}
	return out
}

// unknown says why the nodes of a member are not known well enough.
func (d *Disruptor) unknown(m *memberState) string {
	if !d.feed.Synced() {
		return "the states of nodes are being read anew"
	}
	return m.Stale(d.options.Now(), d.options.MostAge)
}

// hold says why nothing new may begin on a member.
func (d *Disruptor) hold(member string, state api.MemberState) string {
	frozen := d.records.frozen(member)
	switch {
	case d.options.Disabled:
		return "node disruption is switched off on the hub (disruption.enabled)"
	case frozen != "":
		return frozen
	case state != api.MemberReady:
		return d.records.unready(member, state)
	default:
		return ""
	}
}

// lockOf is who may change a member, and who would. What could have taken the lock for a while, and did not,
// waits for something else.
func (d *Disruptor) lockOf(m *memberState) orchestration.MemberLock {
	var out orchestration.MemberLock
	lock, held := d.records.locks.Get(m.name)
	if held {
		out.Ours, out.Owner = lock.Holder == operation(m.name), nameOwner(lock.Owner)
		m.free = time.Time{}
	} else if m.free.IsZero() {
		m.free = d.options.Now()
	}
	if run := d.awaited.first(m.name); run != "" && (held || d.options.Now().Before(m.free.Add(freeFor))) {
		out.Awaited = "update run " + run
	}
	return out
}

// share settles what the fleet-wide budgets leave now and what the decision rests on. Until it is stored they may
// come to leave something else.
func (d *Disruptor) share(m *memberState, s *situation) {
	if len(s.pools.shared) > 0 {
		alone := s.in
		alone.Waiting = nil
		s.own = disruption.CountPools(orchestration.StateOf(alone))
	}
	left, line, err := d.fleet.left(s.pools.shared, m.name, s.own)
	if err != nil {
		s.in.Hold = cmp.Or(s.in.Hold, err.Error())
	}
	s.in.State.FleetAllowed = left
	s.grounds = grounds{
		known: true, view: m.Version, provisioning: s.pools.mark, record: s.revision, shared: line,
		hold: s.in.State.Stale + s.in.Hold + s.in.Lock.Owner + s.in.Lock.Awaited,
	}
}

// names of the fleet-wide budgets of a situation, sorted.
func (s *situation) names() []string {
	var out []string
	for i := range s.pools.shared {
		out = append(out, s.pools.shared[i].Name)
	}
	return out
}
