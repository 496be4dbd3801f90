package reporter

import (
	"context"
	"sync/atomic"
	"time"

	"flotilla/core/api"
	"flotilla/core/status"
)

// placement is what is kept of a placement between two looks at it; who reports next derives it anew.
type placement struct {
	fold    *status.Fold
	pace    status.Pace
	turns   status.Turns
	writing atomic.Bool // what changes of its status is our own
}

// wrote wakes a placement whose status changed by another hand, or was lost.
func (r *Reporter) wrote(name string) {
	if !r.followed.Of(name).writing.Load() {
		r.wake(name)
	}
}

// report folds in what is new of a placement and, when it is time, writes what that comes to. It returns when to look
// again: for what was left unwritten, or when time alone changes the answer.
func (r *Reporter) report(ctx context.Context, name string) (time.Time, error) {
	p, now := r.followed.Of(name), r.store.Now()
	there, err := r.hear(p, name, now)
	if err != nil {
		r.changes.Whole(name)
		return time.Time{}, err
	}
	if !there {
		r.followed.Forget(name)
		return time.Time{}, r.remove(ctx, name)
	}
	settled := p.fold.Settled(now)
	if due := p.pace.Due(settled, r.options.Settle, now); due.After(now) {
		return due, nil
	}
	again, written, err := r.write(ctx, p, name, now)
	if err != nil {
		return time.Time{}, err
	}
	p.pace.Done(settled, written, now)
	return again, nil
}

// hear folds in what changed of a placement since it was looked at last, and says whether it has a spec.
func (r *Reporter) hear(p *placement, name string, now time.Time) (there bool, err error) {
	whole, members := r.changes.Take(name)
	if whole || len(members) > 0 {
		p.pace.Hear(now)
	}
	if whole || p.fold == nil {
		return r.fold(p, name)
	}
	for member := range members {
		result, view, err := r.records.said(member, name)
		if err != nil {
			return true, err
		}
		p.fold.Hear(member, result, view)
	}
	return true, nil
}

// fold derives anew what is known of a placement.
func (r *Reporter) fold(p *placement, name string) (there bool, err error) {
	in, there, err := r.records.gather(name)
	if err != nil || !there {
		return there, err
	}
	var broken error
	fold := status.NewFold(in, func(member string) (*api.PlacementResult, status.Member) {
		result, view, err := r.records.said(member, name)
		if err != nil {
			broken = err
		}
		return result, view
	})
	if broken != nil {
		return true, broken
	}
	p.fold = fold
	return true, nil
}

// write makes the status of a placement and writes it, unless it is what is stored.
func (r *Reporter) write(ctx context.Context, p *placement, name string, now time.Time) (again time.Time, written bool, err error) {
	previous, revision, err := r.records.previous(name)
	if err != nil {
		r.options.Log.Warn().Err(err).Msg("writing a status over")
	}
	st, again := p.fold.Follow(previous, r.began.Add(r.options.Grace), now)
	same := previous != nil && status.Same(previous, &st)
	var events []api.Audit
	if !same {
		events = status.Events(previous, st, now)
	}
	events, due, turns := p.turns.Keep(events, &st, now)
	if again.IsZero() || !due.IsZero() && due.Before(again) {
		again = due
	}
	if same {
		p.turns = turns
		r.store.Audit.Record(events...)
		return again, false, nil
	}
	p.writing.Store(true)
	left, err := r.store.WriteTold(ctx, events, r.records.statuses.Share(name, &st, revision))
	p.writing.Store(false)
	if err == nil {
		p.turns = turns
	}
	if err == nil && r.records.statuses.Revision(name) != left[0] {
		r.wake(name)
	}
	return again, err == nil, err
}

// remove deletes the status of a placement that has no spec.
func (r *Reporter) remove(ctx context.Context, name string) error {
	_, revision, _, _ := r.records.statuses.Find(name) // whether it can be read or not
	if revision == 0 {
		return nil
	}
	_, err := r.store.Writer.Write(ctx, r.records.statuses.Delete(name, revision))
	return err
}
