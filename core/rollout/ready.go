package rollout

import (
	"time"

	"flotilla/core/api"
)

// Reasons of a result that the arithmetic depends on.
const (
	reasonUntrackable = "NotAllWorkAreAvailabilityTrackable"
	reasonInProgress  = "ApplyInProgress"
	reasonPending     = "ApplyPending"
)

// Available says whether a result makes its member ready. A member that reported all differences, where nothing
// is to be written, is. What cannot be tracked is ready once it
// has been available for longer than the period (D18); readyAt is then the time to look again.
// Transitions are by the agent's clock. The time of the release, by ours, is their lower bound, and what
// they are taken for when the agent's clock is ahead of ours: it must not hold a rollout up.
func Available(result *api.PlacementResult, released time.Time, period time.Duration, now time.Time) (ready bool, readyAt time.Time) {
	if !result.Withdrawn && result.DiffReported == "True" {
		return true, time.Time{}
	}
	if result.Withdrawn || result.Available != "True" {
		return false, time.Time{}
	}
	if result.AvailableReason != reasonUntrackable {
		return true, time.Time{}
	}
	since := released
	if result.Changed.After(since) && !result.Changed.After(now) {
		since = result.Changed.Time
	}
	if now.Sub(since) > period {
		return true, time.Time{}
	}
	return false, since.Add(period + time.Millisecond)
}

// WaitsOut says that time alone changes what Available says of a result.
func WaitsOut(result *api.PlacementResult) bool {
	return result.Available == "True" && result.AvailableReason == reasonUntrackable
}

// applyFailed says whether a result is a real failure: objects that could not be applied. Neither a
// member that is still applying nor one whose workload is not available yet has failed (D7).
func applyFailed(result *api.PlacementResult) bool {
	switch result.AppliedReason {
	case reasonInProgress, reasonPending:
		return false
	}
	return result.Applied == "False"
}
