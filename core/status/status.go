package status

import (
	"time"

	"flotilla/core/api"
)

// Input is everything a status depends on. Nothing in it is changed.
type Input struct {
	Placement api.Placement
	// Schedule, Release and Latest are nil while they do not exist.
	Schedule *api.Schedule
	Release  *api.Release
	// Latest is the newest snapshot.
	Latest *api.Snapshot
	// Results are the newest results by member.
	Results map[string]*api.PlacementResult
	// Members by name; one that is missing is taken for a member nobody has heard of.
	Members map[string]Member
	// Previous is the last record; transition times of what did not turn come from it.
	Previous *api.PlacementStatus
	Now      time.Time
}

// Member is what a status needs to know of a member.
type Member struct {
	State    api.MemberState
	LastSeen time.Time
}
