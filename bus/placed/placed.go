// Package placed answers from the tables what is placed where, what goes out of a placement, and what members say of it. Rooms of the hub call it.
package placed

import (
	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/subjects"
)

// Bound answers which placements are bound to a member.
func Bound(a *store.Access) *store.Inverse {
	return store.SharedInverse(a, store.Reads[api.Schedule](a, subjects.Schedules), func(schedule *api.Schedule) []string {
		members := make([]string, len(schedule.Bindings))
		for i := range schedule.Bindings {
			members[i] = schedule.Bindings[i].Member
		}
		return members
	})
}

// Released answers which placements a member has an entry of in a release.
func Released(a *store.Access) *store.Inverse {
	return store.SharedInverse(a, store.Reads[api.Release](a, subjects.Releases), func(release *api.Release) []string {
		members := make([]string, len(release.Entries))
		for i := range release.Entries {
			members[i] = release.Entries[i].Member
		}
		return members
	})
}

// LatestSnapshot is the newest snapshot of the placement with that name and uid, nil while it has none.
func LatestSnapshot(snapshots *store.Table[api.Snapshot], placement, uid string) (*api.Snapshot, error) {
	all, err := snapshots.FindGroup(placement)
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Value.UID == uid {
			return &all[i].Value, nil
		}
	}
	return nil, err
}

// StagedRuns answers which staged runs are for a placement, without a look at all runs.
type StagedRuns struct {
	runs *store.Table[api.UpdateRunStatus]
	on   *store.Inverse
}

// StagedRunsOf are those that a room reads.
func StagedRunsOf(a *store.Access) *StagedRuns {
	runs := store.Reads[api.UpdateRunStatus](a, subjects.Runs)
	return &StagedRuns{runs: runs, on: store.SharedInverse(a, runs, func(run *api.UpdateRunStatus) []string {
		if run.Content == nil || run.Status.State.Done() {
			return nil
		}
		return []string{run.Content.Placement}
	})}
}

// Of are the runs for a placement that are not over, by name.
func (s *StagedRuns) Of(placement string) []*api.UpdateRunStatus {
	var out []*api.UpdateRunStatus
	for _, name := range s.on.Of(placement) {
		if run, _, found := s.runs.Get(name); found && run.Content != nil && run.Content.Placement == placement && !run.Status.State.Done() {
			out = append(out, &run)
		}
	}
	return out
}

// OnChange calls f with the placement of a run that changed.
func (s *StagedRuns) OnChange(f func(placement string)) {
	s.runs.OnChange(func(name string) {
		if run, _, _ := s.runs.Get(name); run.Content != nil {
			f(run.Content.Placement)
		}
	})
}

// UnderWay is the run that is under way on the placement of that name and uid, nil while none is.
func (s *StagedRuns) UnderWay(placement, uid string) *api.UpdateRunStatus {
	for _, run := range s.Of(placement) {
		if run.Content.PlacementUID == uid && run.UnderWay() {
			return run
		}
	}
	return nil
}

// OutgoingSnapshot is what goes out of a placement now, nil while that is nothing: its newest snapshot, and of strategy External
// the one that the staged run brings which is under way, and is nil while none is.
func OutgoingSnapshot(snapshots *store.Table[api.Snapshot], runs *StagedRuns, p *api.Placement) (*api.Snapshot, *api.UpdateRunStatus, error) {
	name, uid := p.Key(), string(p.UID)
	if !p.External() {
		latest, err := LatestSnapshot(snapshots, name, uid)
		return latest, nil, err
	}
	run := runs.UnderWay(name, uid)
	if run == nil {
		latest, err := LatestSnapshot(snapshots, name, uid)
		return latest, nil, err
	}
	snapshot, _, found, err := snapshots.Find(subjects.SnapshotName(name, run.Content.Snapshot))
	if err != nil || !found || snapshot.UID != uid {
		return nil, run, err
	}
	return &snapshot, run, nil
}
