package crowd

import (
	"context"
	"fmt"
	"time"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/subjects"
)

// work reports what a player is done with.
func (f *Fleet) work(ctx context.Context, name string) (time.Time, error) {
	p := f.byName[name]
	now := f.now()
	p.mu.Lock()
	if p.now.silent && f.live.Load() {
		p.mu.Unlock()
		return time.Time{}, nil
	}
	next := p.results(f, now)
	upgraded := p.upgrade.step(p, now)
	if due := p.upgrade.due; !due.IsZero() && (next.IsZero() || due.Before(next)) {
		next = due
	}
	slots := p.held.dirty()
	p.mu.Unlock()
	for _, slot := range slots {
		if err := f.report(ctx, p, slot); err != nil {
			return time.Time{}, err
		}
	}
	if upgraded {
		if err := f.enter(ctx, p); err != nil {
			return time.Time{}, err
		}
	}
	return next, nil
}

// report stores a slot of the results of a player.
func (f *Fleet) report(ctx context.Context, p *player, slot int) error {
	subject := f.stage().Fleet.BucketSubject(subjects.Result, subjects.ResultSlotKey(p.name, slot))
	p.mu.Lock()
	batch := api.ResultBatch{Header: api.NewHeader(api.KindResultBatch), Member: p.name, Results: p.held.of(slot)}
	p.mu.Unlock()
	text, err := bus.BatchBounds.Pack(encode(batch))
	ctx, cancel := context.WithTimeout(ctx, publishWithin)
	defer cancel()
	if err == nil {
		_, err = f.conn(p).JS.Publish(ctx, subject, text)
	}
	if err != nil {
		p.mu.Lock()
		p.held.stale[slot] = true
		p.mu.Unlock()
		return fmt.Errorf("publishing %s: %w", subject, err)
	}
	return nil
}
