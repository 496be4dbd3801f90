package trace

import (
	"time"

	"flotilla/core/api"
)

// Input is all that is known of the way of a change. Nothing in it is changed. Times are the broker's, by the hub's clock.
type Input struct {
	Now       time.Time
	Placement *api.Placement
	// Snapshot is what members are to run now: the newest, or what a staged run brings. Nil while there is none.
	Snapshot *api.Snapshot
	// Schedule, Release and Rendered are nil while they do not exist.
	Schedule *api.Schedule
	Release  *api.Release
	Rendered *api.Rendered
	// Run is the staged run that brings Snapshot, or brought it; nil where none does.
	Run    *api.UpdateRunStatus
	Stored Stored
	// Past are the events of the placement, oldest first, KeptFrom is from when on there are all.
	Past     []api.Told
	KeptFrom time.Time
	// Member is what is known of one.
	Member func(name string) Known
	// Only is the one member that is asked for; empty for all.
	Only string
}

// Stored is when records were stored last; zero where that is not known.
type Stored struct {
	Spec, Snapshot, Rendered, Release time.Time
}

// Known is what is known of a member.
type Known struct {
	// Result is its newest about the placement, nil when there is none. Stored is when its batch was; Replayed says that it
	// may have been in an earlier one.
	Result   *api.PlacementResult
	Stored   time.Time
	Replayed bool
	// Sent is when its newest heartbeat was sent by the agent's clock, Beat when that was stored; zero when not told.
	Sent, Beat time.Time
	// Commands are the heads of what is kept of its index.
	Commands []Command
	State    api.MemberState
	LastSeen time.Time
	// Waits is what keeps the member, in the words of its status.
	Waits string
}

// Command is a message that says what a member is to hold.
type Command struct {
	Order  api.Order
	Stored time.Time
}
