package worker

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

// nudge makes follow read the index once more, soon.
func (w *Worker) nudge() {
	select {
	case w.nudges <- struct{}{}:
	default:
	}
}

// hint notes that a command with that sequence was announced.
func (w *Worker) hint(kind string, sequence uint64) {
	if kind != subjects.CommandPlacement {
		return
	}
	for {
		known := w.hinted.Load()
		if sequence <= known || w.hinted.CompareAndSwap(known, sequence) {
			break
		}
	}
	w.nudge()
}

// follow reads the index when hinted, when the connection comes up, and every few minutes.
func (w *Worker) follow(ctx context.Context) {
	for {
		w.catchUp(ctx)
		idle := time.NewTimer(w.o.PollEvery - time.Duration(rand.Float64()*float64(w.o.PollEvery)/4))
		select {
		case <-ctx.Done():
			idle.Stop()
			return
		case <-w.nudges:
			idle.Stop()
		case <-idle.C:
			w.housekeep(ctx)
		}
	}
}

// catchUp reads the index until the stored command is at least as new as the newest hint.
func (w *Worker) catchUp(ctx context.Context) {
	until := time.Now().Add(chase)
	for wait := firstWait; ctx.Err() == nil && w.o.Hub.Connected(); wait = min(2*wait, mostWait) {
		want := w.hinted.Load()
		got, err := w.readIndex(ctx)
		switch {
		case err == nil && got >= want:
			return
		case errors.Is(err, bus.ErrNotFound) && want == 0:
			return
		case time.Now().After(until):
			w.o.Log.Warn().Err(err).Uint64("hinted", want).Uint64("stored", got).Msg("the announced command did not show up")
			w.hinted.CompareAndSwap(want, 0)
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait - time.Duration(rand.Float64()*float64(wait)/2)):
		}
	}
}

// readIndex reads the stored command and takes it over when it is newer. It returns its sequence.
func (w *Worker) readIndex(ctx context.Context) (uint64, error) {
	body, sequence, err := w.o.Hub.Command(ctx, subjects.CommandPlacement)
	if err != nil {
		w.blank(err)
		return 0, err
	}
	epoch := w.index.order().Epoch
	changed, err := w.index.accept(body, time.Now())
	switch {
	case errors.Is(err, errOlder):
		w.o.Log.Warn().Err(err).Uint64("sequence", sequence).Msg("the stored command is not followed")
		return sequence, nil
	case err != nil:
		w.o.Log.Error().Err(err).Uint64("sequence", sequence).Msg("the stored command is not followed")
		w.setTrouble(err.Error())
		return sequence, nil
	}
	w.setTrouble("")
	if order := w.index.order(); len(changed) > 0 {
		w.o.Log.Info().Uint64("term", order.Term).Uint64("generation", order.Generation).Int("placements", len(changed)).Msg("following a new command")
		if order.Epoch != epoch {
			w.ledger.unsend()
			changed = w.index.placements()
		}
	}
	for _, placement := range changed {
		w.queue.Add(placement)
	}
	if len(changed) > 0 {
		w.survey(ctx)
	}
	return sequence, nil
}

// blank tells, once, that nothing was ever placed on this member.
func (w *Worker) blank(err error) {
	if errors.Is(err, bus.ErrNotFound) && !w.index.known() && w.o.Blank != nil {
		w.blankOnce.Do(w.o.Blank)
	}
}
