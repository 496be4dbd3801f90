package records

import (
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/subjects"
)

// InForce are the freezes that are, sorted by scope.
func (r *Tables) InForce() (all []api.Freeze) {
	for _, scope := range r.Freezes.Names() {
		if f := r.Frozen()(scope); f != nil && f.Ended == nil {
			all = append(all, *f)
		}
	}
	return all
}

// IsPlacement says that an object is a placement.
func (r *Tables) IsPlacement(ref api.ObjectRef) bool {
	table, _ := r.Place(ref)
	return table == r.Placements
}

// ObjectsOn is how many objects a member has of all placements.
func (r *Tables) ObjectsOn(member string) (objects int) {
	for _, entry := range r.Releases.All() {
		entries := entry.Value.Entries
		at, found := slices.BinarySearchFunc(entries, member, func(e api.ReleaseEntry, name string) int { return strings.Compare(e.Member, name) })
		if found && !entries[at].Withdrawn {
			s, _, _ := r.Snapshots.Get(subjects.SnapshotName(entry.Name, entries[at].Snapshot))
			objects += len(s.Manifests)
		}
	}
	return objects
}
