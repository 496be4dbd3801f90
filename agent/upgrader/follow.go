package upgrader

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"flotilla/bus"
	"flotilla/subjects"
)

const (
	// chase is how long a hint is followed whose command does not show up: it may be forged.
	chase = 30 * time.Second
	// firstWait and mostWait bound the delay between two reads of one chase.
	firstWait = 20 * time.Millisecond
	mostWait  = 2 * time.Second
)

// follow reads the command when hinted, when the connection comes up, and every few minutes.
func (u *Upgrader) follow(ctx context.Context) {
	for {
		u.catchUp(ctx)
		idle := time.NewTimer(u.o.PollEvery - time.Duration(rand.Float64()*float64(u.o.PollEvery)/4))
		select {
		case <-ctx.Done():
			idle.Stop()
			return
		case <-u.nudges:
			idle.Stop()
		case <-idle.C:
		}
	}
}

// catchUp reads the command until the stored one is at least as new as the newest hint.
func (u *Upgrader) catchUp(ctx context.Context) {
	until := time.Now().Add(chase)
	for wait := firstWait; ctx.Err() == nil && u.o.Hub.Connected(); wait = min(2*wait, mostWait) {
		want := u.hinted.Load()
		got, err := u.read(ctx)
		switch {
		case err == nil && got >= want:
			return
		case errors.Is(err, bus.ErrNotFound) && want == 0:
			return
		case time.Now().After(until):
			u.o.Log.Warn().Err(err).Uint64("hinted", want).Uint64("stored", got).Msg("the announced upgrade command did not show up")
			u.hinted.CompareAndSwap(want, 0)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait - time.Duration(rand.Float64()*float64(wait)/2)):
		}
	}
}

// read reads the stored command and takes it over when it is newer. It returns its sequence.
func (u *Upgrader) read(ctx context.Context) (uint64, error) {
	body, sequence, err := u.o.Hub.Command(ctx, subjects.CommandUpgrade)
	if err != nil {
		return 0, err
	}
	changed, err := u.ledger.accept(body, time.Now())
	switch {
	case errors.Is(err, errOlder):
		u.o.Log.Warn().Err(err).Uint64("sequence", sequence).Msg("the stored upgrade command is not followed")
	case err != nil:
		u.o.Log.Error().Err(err).Uint64("sequence", sequence).Msg("the stored upgrade command is not followed")
		u.setTrouble(err.Error())
	default:
		u.setTrouble("")
	}
	if changed {
		u.wait()
		u.inventory.refresh(false)
		wake(u.work)
	}
	return sequence, nil
}
