package disruptor

import (
	"cmp"
	"context"
	"slices"
	"time"

	"flotilla/bus/loop"
	"flotilla/core/api"
)

// askedFor is for how long a member is decided about, and kept decoded, after somebody asked for it though nothing else
// needs it.
const askedFor = 2 * time.Minute

// mostCount bounds how long an edit waits for the nodes of all members to be counted that nobody asked for.
const mostCount = 2 * time.Second

// pooled says that there are NodePools: then every member is decided about.
func (d *Disruptor) pooled() bool { return d.records.poolSpecs.Any() }

// wanted says that a member is to be decided about; its deciding is held. Of others the states of nodes stay as they are
// stored: nothing can come of them.
func (d *Disruptor) wanted(m *memberState) bool {
	return d.pooled() || m.pooled || len(m.waits()) > 0 || d.options.Now().Before(m.asked()) || d.records.busy(m.name)
}

// busy says that a member has something to end: disruptions, a lock, or its own leaving.
func (r *records) busy(name string) bool {
	_, _, known, err := r.members.Find(name)
	record, _, _, broken := r.disruptions.Find(name)
	lock, held := r.locks.Get(name)
	return err != nil || !known || broken != nil || held && lock.Holder == operation(name) ||
		slices.ContainsFunc(record.Disruptions, func(one api.Disruption) bool { return one.Ended.IsZero() })
}

// ask has a member decided about from now on for a while, and what was not since anybody asked last. What that runs into
// the member's next pass tells.
func (d *Disruptor) ask(ctx context.Context, m *memberState) {
	if err := d.countAll(ctx); err != nil || d.pooled() {
		return // the room goes on counting, and who asks looks at one member
	}
	now := d.options.Now()
	if until := time.Unix(0, m.askedUntil.Swap(now.Add(askedFor).UnixNano())); now.Before(until) {
		return
	}
	ctx, end := context.WithTimeout(ctx, d.options.Patience)
	defer end()
	if next, err := d.pass(ctx, m.name); err == nil && !next.IsZero() {
		d.queue.AddAt(m.name, next)
	} else {
		d.queue.Add(m.name)
	}
}

// countAll counts the nodes of all members once there are NodePools, so that no fleet-wide budget is spent on a count
// that lacks some. It errs when that is not done yet.
func (d *Disruptor) countAll(ctx context.Context) error {
	if err := take(ctx, d.counting); err != nil {
		return err
	}
	defer d.counting.Leave()
	if !d.pooled() { // a NodePool that comes from here on is counted for by the next decision
		d.countedAll = false
		return nil
	}
	if !d.countedAll {
		d.countedAll = d.prime(ctx)
	}
	if !d.countedAll {
		return cmp.Or(ctx.Err(), errBusy)
	}
	return nil
}

// glance looks at a member that nobody wants: what an inventory no longer names is purged, and a view that nobody asked
// for lately is laid down.
func (d *Disruptor) glance(ctx context.Context, m *memberState) time.Time {
	next, came := time.Time{}, m.Lift()
	d.took(m, came)
	if came.Inventory {
		d.foldUnlisted(m)
		next = d.tidied(ctx, m)
	}
	return loop.Sooner(next, d.lay(m))
}

// lay forgets the view of a member, and what was made of it, when nobody asked for it for a while and all of it can be
// made again of what is held. It says when to try again.
func (d *Disruptor) lay(m *memberState) time.Time {
	if m.Blank() {
		return time.Time{}
	}
	if d.options.Now().Before(m.kept) {
		return m.kept
	}
	if m.Lay() {
		m.decision.Store(nil)
		m.short.Store(false)
		d.options.Metrics.forget(m.name)
		d.counted(m.name, d.fleet.forget(m.name))
	}
	return time.Time{}
}

// countUnwanted counts the nodes of all members while there are no NodePools, as far as that is done in time.
func (d *Disruptor) countUnwanted(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, mostCount)
	defer cancel()
	d.prime(ctx)
}
