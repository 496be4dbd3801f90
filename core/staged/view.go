package staged

import (
	"slices"
	"time"

	"flotilla/core/api"
	"flotilla/core/guard"
	"flotilla/core/window"
)

// StuckAfter is how long a member may take to become available before it is told of.
const StuckAfter = 5 * time.Minute

// View is what is known around a run: its placement and its strategy, nil while there are none, with the records of
// the placement, nil while they do not exist.
type View struct {
	Placement *api.Placement
	Strategy  *api.StagedUpdateStrategy
	Schedule  *api.Schedule
	Release   *api.Release
	Checks    *api.CheckRecord
	// Snapshots are those that are kept, oldest first.
	Snapshots []*api.Snapshot
	// Member is what is known of a member, false for one that is no part of the fleet.
	Member func(name string) (Member, bool)
	// Result is what a member said last of the placement, nil when it said nothing.
	Result func(member string) *api.PlacementResult
	// Runs are those of content for the placement that are not over.
	Runs []*api.UpdateRunStatus
	// Freezes keep members from beginning.
	Freezes guard.Freezes
}

// Member is what a run goes by on a member.
type Member struct {
	Labels  map[string]string
	Agent   api.AgentLabels // which of Labels the agent decides
	Leaving bool
	// Silent is set while nobody hears of the member.
	Silent bool
	// Windows are those of content, nil for none.
	Windows *window.Schedule
}

// snapshot is the kept one of an index, the newest for 0; nil when there is none.
func (v *View) snapshot(index int64) *api.Snapshot {
	for _, s := range slices.Backward(v.Snapshots) {
		if s.UID == string(v.Placement.UID) && (index == 0 || s.Index == index) {
			return s
		}
	}
	return nil
}

// schedule is that of the placement as it is, nil while it is of another one.
func (v *View) schedule() *api.Schedule {
	if v.Schedule == nil || v.Schedule.UID != string(v.Placement.UID) {
		return nil
	}
	return v.Schedule
}

// held are the entries of the members that hold the placement, or were given it, by member.
func (v *View) held() map[string]*api.ReleaseEntry {
	out := map[string]*api.ReleaseEntry{}
	if v.Release == nil || v.Placement == nil {
		return out
	}
	for i := range v.Release.Entries {
		if e := &v.Release.Entries[i]; e.UID == string(v.Placement.UID) {
			out[e.Member] = e
		}
	}
	return out
}

// bound are the members that the placement goes to.
func (v *View) bound() map[string]bool {
	out := map[string]bool{}
	if v.Placement == nil || v.schedule() == nil {
		return out
	}
	for i := range v.Schedule.Bindings {
		out[v.Schedule.Bindings[i].Member] = true
	}
	return out
}
