package store

import (
	"flotilla/core/api"
	"flotilla/subjects"
)

// Bound answers which placements are bound to a member.
func Bound(a *Access) *Inverse {
	return sharedInverse(a, Reads[api.Schedule](a, subjects.Schedules), func(schedule *api.Schedule) []string {
		members := make([]string, len(schedule.Bindings))
		for i := range schedule.Bindings {
			members[i] = schedule.Bindings[i].Member
		}
		return members
	})
}

// Released answers which placements a member has an entry of in a release.
func Released(a *Access) *Inverse {
	return sharedInverse(a, Reads[api.Release](a, subjects.Releases), func(release *api.Release) []string {
		members := make([]string, len(release.Entries))
		for i := range release.Entries {
			members[i] = release.Entries[i].Member
		}
		return members
	})
}

// sharedInverse is the one of a table for all rooms that read it.
func sharedInverse[T any](a *Access, t *Table[T], names func(*T) []string) *Inverse {
	a.state.making.Lock()
	defer a.state.making.Unlock()
	if a.state.inverses == nil {
		a.state.inverses = map[subjects.Family]*Inverse{}
	}
	if a.state.inverses[t.family] == nil {
		a.state.inverses[t.family] = InverseOf(t, names)
	}
	return a.state.inverses[t.family]
}

// LatestSnapshot is the newest snapshot of the placement with that name and uid, nil while it has none.
func LatestSnapshot(snapshots *Table[api.Snapshot], placement, uid string) (*api.Snapshot, error) {
	all, err := snapshots.FindGroup(placement)
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Value.UID == uid {
			return &all[i].Value, nil
		}
	}
	return nil, err
}
