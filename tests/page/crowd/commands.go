package crowd

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/subjects"
)

// index is what a player was told to hold, as its agent keeps it.
type index struct {
	session  []byte
	position api.IndexPosition
	order    api.Order
	entries  map[string]api.IndexEntry // by placement
}

// follow has players take in the commands that are stored for them, in order, until ctx ends.
func (f *Fleet) follow(ctx context.Context) error {
	consumer, err := f.stage().JS.OrderedConsumer(ctx, f.stage().Fleet.Stream(subjects.Commands), jetstream.OrderedConsumerConfig{})
	if err != nil {
		return fmt.Errorf("following commands: %w", err)
	}
	consuming, err := consumer.Consume(func(m jetstream.Msg) {
		if err := f.hear(m); err != nil && ctx.Err() == nil {
			f.fail(err)
		}
	})
	if err != nil {
		return fmt.Errorf("following commands: %w", err)
	}
	f.running.Go(func() {
		<-ctx.Done()
		consuming.Stop()
		<-consuming.Closed()
	})
	return nil
}

// hear gives a command, or a change of one, to the player that it is for.
func (f *Fleet) hear(m jetstream.Msg) error {
	fleet := f.stage().Fleet
	if name, _, ok := fleet.ParseCommandDelta(m.Subject()); ok {
		if p := f.byName[name]; p != nil {
			return f.heard(p, p.takeChange(m, f.readyAt))
		}
		return nil
	}
	name, kind, ok := fleet.ParseCommand(m.Subject())
	p := f.byName[name]
	switch {
	case !ok || p == nil:
		return nil
	case kind == subjects.CommandPlacement:
		return f.heard(p, p.takeIndex(m.Data(), f.hubKey, f.readyAt))
	case kind == subjects.CommandUpgrade:
		return f.heard(p, f.takeUpgrade(p, m.Data()))
	}
	return nil
}

// heard wakes a player that took something in.
func (f *Fleet) heard(p *player, err error) error {
	if err != nil {
		return fmt.Errorf("a command of %s: %w", p.name, err)
	}
	f.queue.Add(p.name)
	return nil
}

// readyAt is when something that begins now is done: at once while the fleet is set up, later it takes its time.
func (f *Fleet) readyAt(p *player) time.Time {
	if !f.live.Load() {
		return f.now()
	}
	return f.now().Add(time.Duration(100+p.number*37%900) * time.Millisecond)
}

// takeIndex takes in an index as it is stored whole.
func (p *player) takeIndex(sealed []byte, hubKey string, ready func(*player) time.Time) error {
	body, err := p.sealing.Open(sealed, hubKey)
	if err != nil {
		return err
	}
	var command api.PlacementCommand
	if err := decode(body, &command); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.index.entries
	p.index = index{session: command.Session, position: api.IndexPosition{Base: command.Order}, order: command.Order, entries: map[string]api.IndexEntry{}}
	for i := range command.Entries {
		p.index.entries[command.Entries[i].Placement] = command.Entries[i]
		p.begin(before, &command.Entries[i], ready)
	}
	for placement := range before {
		if _, still := p.index.entries[placement]; !still {
			p.forget(placement)
		}
	}
	return nil
}

// takeChange takes in a change of the index; one that comes again, or of another index, is none.
func (p *player) takeChange(m jetstream.Msg, ready func(*player) time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := p.index.position
	next.Number++
	if m.Headers().Get(bus.HeaderPosition) != next.String() {
		return nil
	}
	body, err := bus.OpenChange(p.name, p.index.session, next, m.Data())
	if err != nil {
		return err
	}
	var change api.PlacementDelta
	if err := json.Unmarshal(body, &change); err != nil {
		return err
	}
	p.index.position, p.index.order = next, change.Order
	for i := range change.Entries {
		p.begin(p.index.entries, &change.Entries[i], ready)
		p.index.entries[change.Entries[i].Placement] = change.Entries[i]
	}
	for _, placement := range change.Gone {
		delete(p.index.entries, placement)
		p.forget(placement)
	}
	return nil
}

func decode(stored []byte, into any) error {
	body, err := bus.CommandBounds.Unpack(stored)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

// begin notes when a player will be done with an entry that is another than before; the lock is held.
func (p *player) begin(before map[string]api.IndexEntry, e *api.IndexEntry, ready func(*player) time.Time) {
	was, known := before[e.Placement]
	if known && was.UID == e.UID && was.Generation == e.Generation && was.Withdrawn == e.Withdrawn {
		return
	}
	p.due[e.Placement] = ready(p)
}

// forget drops what is reported of a placement that the index does not mention; the lock is held.
func (p *player) forget(placement string) {
	delete(p.due, placement)
	p.held.drop(resultID{subjects.CommandPlacement, placement})
}

// withholds says that a player confirms nothing that it is told to give up.
func (p *player) withholds(e *api.IndexEntry) bool { return e.Withdrawn && p.part == partLeaving }

// results makes the results that are due, and returns when the next one is; the lock is held.
func (p *player) results(f *Fleet, now time.Time) (next time.Time) {
	for placement, due := range p.due {
		entry := p.index.entries[placement]
		switch {
		case now.Before(due):
			if next.IsZero() || due.Before(next) {
				next = due
			}
			continue
		case !p.withholds(&entry):
			p.held.put(resultID{subjects.CommandPlacement, placement}, p.resultOf(&entry, f.endingOf(p, placement), due))
		}
		delete(p.due, placement)
	}
	return next
}
