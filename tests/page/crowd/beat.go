package crowd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"flotilla/subjects"
)

const (
	// publishing is how many players publish at once.
	publishing = 8
	// turns is into how many parts the players are cut, of which one after another beats.
	turns = 20
	// publishWithin is how long storing something may take on a machine that has too much to do.
	publishWithin = time.Minute
)

// beat stores the heartbeat of a player, unless it is silent.
func (f *Fleet) beat(ctx context.Context, p *player) error {
	h, ok := p.heartbeat(int(f.pace.every/time.Second), f.now().UnixMilli())
	if !ok {
		return nil
	}
	return f.publish(ctx, p, f.stage().Fleet.BucketSubject(subjects.Heartbeat, p.name), h)
}

// publish stores a value on a subject of a player.
func (f *Fleet) publish(ctx context.Context, p *player, subject string, value any) error {
	ctx, cancel := context.WithTimeout(ctx, publishWithin)
	defer cancel()
	if _, err := f.conn(p).JS.Publish(ctx, subject, encode(value)); err != nil {
		return fmt.Errorf("publishing %s: %w", subject, err)
	}
	return nil
}

// inventory stores what a player says of its member for upgrades.
func (f *Fleet) inventory(ctx context.Context, p *player) error {
	p.mu.Lock()
	said := p.inventory(p.running)
	p.mu.Unlock()
	return f.publish(ctx, p, f.stage().Fleet.Inventory(p.name), said)
}

// each has players do something, several at once.
func each(ctx context.Context, players []*player, do func(context.Context, *player) error) error {
	waiting := make(chan *player)
	faults := make([]error, publishing)
	var doing sync.WaitGroup
	for k := range publishing {
		doing.Go(func() {
			for p := range waiting {
				if faults[k] == nil {
					faults[k] = do(ctx, p)
				}
			}
		})
	}
	for _, p := range players {
		waiting <- p
	}
	close(waiting)
	doing.Wait()
	return errors.Join(faults...)
}

// keepBeating has all players beat in turn until ctx ends.
func (f *Fleet) keepBeating(ctx context.Context) {
	tick := time.NewTicker(f.pace.every / turns)
	defer tick.Stop()
	for turn := 0; ; turn = (turn + 1) % turns {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var theirs []*player
		for i := turn; i < len(f.players); i += turns {
			theirs = append(theirs, f.players[i])
		}
		beat := func(ctx context.Context, p *player) error { return unlessLate(f.beat(ctx, p)) }
		if err := each(ctx, theirs, beat); err != nil && ctx.Err() == nil {
			f.fail(err)
		}
	}
}

// unlessLate is what went wrong, but for an answer that did not come in time: what it was for is said again, as agents do.
func unlessLate(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// pace is how often members beat, and after how long without they are silent; how often the fleet is looked at while it is
// waited for, and for how long nothing is written once it is settled.
type pace struct{ every, timeout, grace, look, still time.Duration }

// paceOf lets small fleets be done soon, and large ones not be busy with heartbeats and looks alone.
func paceOf(members int) pace {
	if members <= 100 {
		return pace{every: time.Second, timeout: 5 * time.Second, grace: time.Second, look: 50 * time.Millisecond, still: 600 * time.Millisecond}
	}
	return pace{every: 15 * time.Second, timeout: 32 * time.Second, grace: 15 * time.Second, look: 500 * time.Millisecond, still: 2 * time.Second}
}
