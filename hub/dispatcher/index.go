package dispatcher

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"flotilla/core/api"
)

// index holds what every member is to hold, kept in step with the releases.
type index struct {
	mu       sync.Mutex
	byMember map[string]map[string]api.IndexEntry // member, placement
	members  map[string][]string                  // placement, its members
	// revisions are those of the releases that were taken over, by placement; 0 for one that is gone.
	revisions map[string]uint64
}

func newIndex() *index {
	return &index{byMember: map[string]map[string]api.IndexEntry{}, members: map[string][]string{}, revisions: map[string]uint64{}}
}

// set takes over the release of a placement in a revision, nil when there is none any more, and returns the members
// whose index changed.
func (x *index) set(placement string, release *api.Release, revision uint64) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.revisions[placement] = revision
	wanted := map[string]api.IndexEntry{}
	if release != nil {
		for i := range release.Entries {
			wanted[release.Entries[i].Member] = indexEntry(placement, &release.Entries[i])
		}
	}
	var changed []string
	for _, member := range x.members[placement] {
		if _, kept := wanted[member]; !kept {
			if delete(x.byMember[member], placement); len(x.byMember[member]) == 0 {
				delete(x.byMember, member)
			}
			changed = append(changed, member)
		}
	}
	members := make([]string, 0, len(wanted))
	for member, entry := range wanted {
		members = append(members, member)
		held, known := x.byMember[member][placement]
		if known && reflect.DeepEqual(held, entry) {
			continue
		}
		if x.byMember[member] == nil {
			x.byMember[member] = map[string]api.IndexEntry{}
		}
		x.byMember[member][placement] = entry
		changed = append(changed, member)
	}
	x.members[placement] = members
	if len(members) == 0 {
		delete(x.members, placement)
	}
	if revision == 0 {
		delete(x.revisions, placement)
	}
	return changed
}

// unread says that the release of a placement cannot be read in a revision: what it said before stands.
func (x *index) unread(placement string, revision uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.revisions[placement] = revision
}

// behind lists the placements of a member whose release is not of the revision that there is.
func (x *index) behind(member string, revision func(placement string) uint64) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var placements []string
	for placement := range x.byMember[member] {
		if x.revisions[placement] != revision(placement) {
			placements = append(placements, placement)
		}
	}
	return placements
}

// entries returns the index of a member, sorted by placement; never nil.
func (x *index) entries(member string) []api.IndexEntry {
	x.mu.Lock()
	defer x.mu.Unlock()
	entries := make([]api.IndexEntry, 0, len(x.byMember[member]))
	for _, entry := range x.byMember[member] {
		entries = append(entries, entry)
	}
	slices.SortFunc(entries, func(a, b api.IndexEntry) int { return strings.Compare(a.Placement, b.Placement) })
	return entries
}

func indexEntry(placement string, entry *api.ReleaseEntry) api.IndexEntry {
	return api.IndexEntry{
		Placement: placement, UID: entry.UID, Generation: entry.Generation, Snapshot: entry.Snapshot, Work: entry.Work,
		Apply: entry.Apply, Withdrawn: entry.Withdrawn, Abandon: entry.Abandon,
	}
}
