package worker

import (
	"context"
	"errors"
	"time"

	"flotilla/agent/disk"
	"flotilla/bus/member"
	"flotilla/subjects"
)

// pursuit follows the member's index.
func (w *Worker) pursuit() *member.Follower {
	return member.NewFollower(member.FollowerOptions{
		Hub: w.o.Hub, Kind: subjects.CommandPlacement, Every: w.o.PollEvery, Refused: w.refuse, None: w.blank, Idle: w.housekeep,
		Held: w.index.held, Take: w.taking(w.index.accept), TakeChange: w.taking(w.index.amend),
	})
}

// accept takes over a message about the index, and returns the placements that changed.
type accept func(body []byte, now time.Time) (changed []string, err error)

// taking takes over what is stored by f.
func (w *Worker) taking(f accept) func(ctx context.Context, body []byte, sequence uint64) {
	return func(ctx context.Context, body []byte, sequence uint64) { w.take(ctx, f, body, sequence) }
}

// take takes the stored index, or a change of it, over when it is newer.
func (w *Worker) take(ctx context.Context, f accept, body []byte, sequence uint64) {
	epoch := w.index.order().Epoch
	changed, err := f(body, w.o.Hub.Now())
	switch {
	case errors.Is(err, disk.ErrOlder):
		w.o.Log.Warn().Err(err).Uint64("sequence", sequence).Msg("the stored command is not followed")
		return
	case err != nil:
		w.o.Log.Error().Err(err).Uint64("sequence", sequence).Msg("the stored command is not followed")
		w.setTrouble(err.Error())
		return
	}
	w.setTrouble("")
	if order := w.index.order(); len(changed) > 0 {
		w.o.Log.Info().Uint64("term", order.Term).Uint64("generation", order.Generation).Int("placements", len(changed)).Msg("following a new command")
		if order.Epoch != epoch {
			w.o.Hub.CompareResults()
			changed = w.index.placements()
		}
	}
	for _, placement := range changed {
		w.queue.Add(placement)
	}
	if len(changed) > 0 {
		w.survey(ctx)
	}
}

// refuse says that the stored index is not followed; what was followed before goes on.
func (w *Worker) refuse(err error) { w.setTrouble("the stored index is not followed: " + err.Error()) }

// blank tells, once, that nothing was ever placed on this member.
func (w *Worker) blank() {
	if !w.index.known() && w.o.Blank != nil {
		w.blankOnce.Do(w.o.Blank)
	}
}
