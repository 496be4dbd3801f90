package worker

import (
	"context"
	"encoding/json"
	"errors"

	"flotilla/agent/disk"
	"flotilla/bus/member"
	"flotilla/core/api"
	"flotilla/subjects"
)

// pursuit follows the member's index.
func (w *Worker) pursuit() *member.Follower {
	return member.NewFollower(member.FollowerOptions{
		Hub: w.o.Hub, Kind: subjects.CommandPlacement, Every: w.o.PollEvery, Refused: w.refuse, None: w.blank, Idle: w.housekeep,
		Index: followed{w},
	})
}

// followed is the index that a worker follows.
type followed struct{ w *Worker }

func (f followed) Held() (member.Held, bool) { return f.w.index.held() }

func (f followed) Read(whole []byte) (member.Held, bool) {
	var command api.PlacementCommand
	if err := json.Unmarshal(whole, &command); err != nil {
		return member.Held{}, false
	}
	return heldOf(&command)
}

// Take takes the stored index, or changes of it, over when they are newer.
func (f followed) Take(ctx context.Context, whole []byte, changes [][]byte, sequence uint64) {
	w := f.w
	epoch := w.index.order().Epoch
	var changed []string
	var err error
	if whole == nil {
		changed, err = w.index.amend(changes, w.o.Hub.Now())
	} else {
		changed, err = w.index.accept(whole, changes, w.o.Hub.Now())
	}
	switch {
	case whole == nil && errors.Is(err, errOther):
		w.o.Log.Warn().Err(err).Uint64("sequence", sequence).Msg("a change of the command is not taken")
		return
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
