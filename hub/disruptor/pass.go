package disruptor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"flotilla/bus"
	"flotilla/bus/loop"
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/capacity"
	"flotilla/core/disruption"
	"flotilla/core/orchestration"
	"flotilla/subjects"
)

// by is who writes these events.
const by = "disruptor"

// pass takes what came into the view of a member and brings its disruptions forward; it returns when the
// member is to be looked at again.
func (d *Disruptor) pass(ctx context.Context, name string) (time.Time, error) {
	m := d.roster.get(name)
	if err := m.decide(ctx); err != nil {
		return time.Time{}, err
	}
	defer m.deciding.Leave()
	if err := d.relieve(ctx, m); err != nil {
		return time.Time{}, err
	}
	if !d.wanted(m) {
		return d.glance(ctx, m), nil
	}
	pooled := d.pooled()
	out, s, err := d.step(ctx, m, nil)
	if errors.Is(err, bus.ErrConflict) {
		return d.options.Now().Add(settle), nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("disrupting nodes of %s: %w", name, err)
	}
	if s.in.Left {
		return time.Time{}, d.part(ctx, m)
	}
	m.pooled = pooled || m.pooled && s.in.Resting
	return loop.Sooner(d.recheck(m, s, out), d.tidied(ctx, m)), nil
}

// heard wakes the member that a result is about: at once when it brings a disruption forward, else later.
func (d *Disruptor) heard(key string) {
	member, kind, id, ok := subjects.ParseResultKey(key)
	if !ok || kind != subjects.CommandDisruption {
		return
	}
	result, _ := d.records.results.Get(key)
	record := d.record(member)
	for i := range record.Disruptions {
		one := &record.Disruptions[i]
		if one.ID != id || result == nil {
			continue
		}
		if _, forward := orchestration.Advance(*one, result, d.options.Now()); forward || result.Phase == api.PhaseAborted {
			d.queue.Add(member)
		} else {
			d.queue.AddAt(member, d.options.Now().Add(progressEvery))
		}
	}
}

// step asks Step about a member and writes what it answers, with the deletions that persons ask for; the
// member's deciding is held. Nothing has happened when it errs.
func (d *Disruptor) step(ctx context.Context, m *memberState, deletions []orchestration.Deletion) (*orchestration.StepResult, *situation, error) {
	d.fold(m)
	s, err := d.gather(ctx, m)
	if err != nil {
		if _, counted := d.fleet.of(m.name); !counted {
			d.countBroken(m, err)
		}
		return nil, nil, err
	}
	d.share(m, s)
	s.in.Deletions, s.in.State.Ended = deletions, ended(ctx)
	s.in.Resting = len(deletions) > 0 || m.pace.rests(s.grounds, s.in.State.Now, d.options.Interval)
	began := d.store.Now()
	out := orchestration.Step(s.in)
	took := d.store.Now().Sub(began)
	if !s.in.Resting {
		m.pace.rest(took, d.options.Now())
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err // what was decided may be cut short
	}
	if out.Decision != nil {
		d.options.Metrics.evaluated(m.name, out.Decision, took)
	}
	if err := d.commit(ctx, m, s, &out); err != nil {
		return nil, nil, err
	}
	return &out, s, nil
}

// commit writes what a step answers and takes it in, with the fleet-wide budgets held. It errs with bus.ErrConflict when
// others have spent meanwhile what the step takes of them: nothing of it is written, and it is to be decided again.
func (d *Disruptor) commit(ctx context.Context, m *memberState, s *situation, out *orchestration.StepResult) error {
	release := d.fleet.hold(s.names())
	defer release()
	fits, moved := d.affords(m, s, out)
	err := fmt.Errorf("what fleet-wide budgets leave was spent meanwhile: %w", bus.ErrConflict)
	if fits {
		err = d.write(ctx, m, s, out)
	}
	if err != nil {
		d.census(m, s)
		return err
	}
	s.in.Waiting = out.Waiting
	m.waiting.Store(&out.Waiting)
	d.settled(m, s, out)
	if moved {
		d.queue.AddAt(m.name, d.options.Now().Add(settle)) // whoever told those who wait for budgets found no decision that waits
	}
	return nil
}

// write stores the record with the lock, all or nothing, and tells what happens by it; nothing changed
// means nothing written.
func (d *Disruptor) write(ctx context.Context, m *memberState, s *situation, out *orchestration.StepResult) error {
	var ops []store.Op
	name := s.in.Member
	if out.ReleaseLock {
		if op, held := d.records.locks.Release(name, operation(name)); held {
			ops = append(ops, op)
		}
	}
	if out.TakeLock {
		ops = append(ops, d.records.locks.Take(name, operation(name), owner, s.in.State.Now))
	}
	switch {
	case out.Remove:
		ops = append(ops, d.records.disruptions.Delete(name, s.revision))
	case out.Changed:
		ops = append(ops, d.records.disruptions.Put(name, &out.Record, s.revision))
	}
	events, after := m.telling.within(out.Events, s.in.State.Now)
	revisions, err := d.store.WriteTold(ctx, signed(events), ops...)
	if err != nil {
		return fmt.Errorf("writing the disruptions of %s: %w", name, err)
	}
	m.telling = after
	d.tellLeftOut(m, len(out.Events)-len(events))
	if out.Changed {
		s.in.Record, s.revision = out.Record, revisions[len(revisions)-1]
		s.grounds.record = s.revision
	}
	s.in.Lock = d.lockOf(m)
	return nil
}

// signed are events with who writes them.
func signed(events []api.Audit) []api.Audit {
	out := slices.Clone(events)
	for i := range out {
		out[i].By = by
	}
	return out
}

// settled takes in what was written.
func (d *Disruptor) settled(m *memberState, s *situation, out *orchestration.StepResult) {
	if out.Decision != nil {
		m.decided(out.Decision)
	}
	m.pace.note(out, s)
	d.wakePools(replacementPools(out))
	d.options.Metrics.stepped(s, out)
	d.census(m, s)
	for _, id := range out.Began {
		d.options.Log.Debug().Str("member", m.name).Str("disruption", id).Msg("began")
	}
}

// replacementPools are those that replacements come from of what began or ended.
func replacementPools(out *orchestration.StepResult) (pools []string) {
	for i := range out.Record.Disruptions {
		one := &out.Record.Disruptions[i]
		if slices.Contains(out.Began, one.ID) || slices.Contains(out.Ended, one.ID) {
			for j := range one.Replacements {
				pools = append(pools, one.Replacements[j].Pool)
			}
		}
	}
	return pools
}

// census counts the nodes of a member, with those that go, and has the pools looked at that it concerns.
func (d *Disruptor) census(m *memberState, s *situation) {
	if s.in.Left {
		d.counted(m.name, d.fleet.forget(m.name))
		return
	}
	c := census{pools: disruption.CountPools(orchestration.StateOf(s.in)), nodes: m.View.Cluster.Pooled(), unknown: s.unknown}
	if m.Blank() || m.View.Declined() {
		c.unknown = "" // an agent that tells of no nodes has none
	}
	d.counted(m.name, d.fleet.set(m.name, c))
}

// counted has looked at what may follow from another count of pools: their records, and the members that
// wait for what is left of budgets that are shared.
func (d *Disruptor) counted(member string, pools []string) {
	d.wakePools(pools)
	shared, _ := d.provisioning.shared()
	if !slices.ContainsFunc(shared, func(b capacity.SharedBudget) bool { return b.Covers(pools) }) {
		return
	}
	for _, name := range d.roster.names() {
		if name != member && d.roster.get(name).short.Load() {
			d.queue.AddAt(name, d.options.Now().Add(settle))
		}
	}
}

// recheck is when a member is to be looked at again without any cause.
func (d *Disruptor) recheck(m *memberState, s *situation, out *orchestration.StepResult) time.Time {
	next := out.Recheck
	if out.Decision != nil || s.in.Resting || m.pace.again {
		next = loop.Sooner(next, m.pace.next(s.grounds, s.in.State.Now, d.options.Interval))
	}
	if asked := m.asked(); asked.After(s.in.State.Now) {
		next = loop.Sooner(next, asked)
	}
	if s.pools.fault != "" {
		next = loop.Sooner(next, s.in.State.Now.Add(d.options.Interval))
	}
	if s.in.Lock.Awaited != "" && !m.free.IsZero() {
		next = loop.Sooner(next, m.free.Add(freeFor))
	}
	return next
}

// part ends what is kept of a member that left, once nobody knows it any more.
func (d *Disruptor) part(ctx context.Context, m *memberState) error {
	if !d.records.departed(m.name) || !d.feed.Synced() {
		return nil
	}
	if err := d.feed.PurgeMember(ctx, m.name); err != nil {
		return err
	}
	d.options.Metrics.forget(m.name)
	d.roster.forget(m.name)
	return nil
}

// PurgeMember removes the stored states of all nodes of a member.
func (d *Disruptor) PurgeMember(ctx context.Context, member string) error {
	if !d.feed.Synced() {
		return bus.ErrNotSynced
	}
	return d.feed.PurgeMember(ctx, member)
}

// tidied is tidy, and when to try again what failed.
func (d *Disruptor) tidied(ctx context.Context, m *memberState) (again time.Time) {
	err := d.tidy(ctx, m)
	if err == nil {
		return time.Time{}
	}
	d.options.Log.Warn().Err(err).Str("member", m.name).Msg("purging the states of nodes that left")
	return d.options.Now().Add(behind)
}

// tidy purges the stored states of nodes that have left, once a new inventory says so.
func (d *Disruptor) tidy(ctx context.Context, m *memberState) error {
	if !m.Listed || !d.feed.Synced() {
		return nil
	}
	for _, node := range m.View.Unlisted(d.feed.Nodes(m.name)) {
		if err := d.purgeNode(ctx, m, node); err != nil {
			return err
		}
	}
	m.Listed = false
	return nil
}
