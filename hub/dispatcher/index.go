package dispatcher

import (
	"crypto/sha256"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"flotilla/core/api"
)

// index holds what every member is to hold, kept in step with the releases.
type index struct {
	mu sync.Mutex
	// sum is a keyed digest, without which nobody can find two indexes of one sum.
	sum      func(body []byte) []byte
	byMember map[string]*holdings
	members  map[string][]string // placement, its members
	clock    uint64              // counts changes
}

// holdings are what one member is to hold.
type holdings struct {
	entries map[string]held // by placement
	// sum is that of all entries: of their own ones, each bit is set where it is in an odd number of them.
	sum [sha256.Size]byte
	// changed are the placements whose entries changed since the newest command was stored, and when they did.
	changed map[string]uint64
}

type held struct {
	api.IndexEntry
	sum []byte
}

func newIndex(sum func(body []byte) []byte) *index {
	return &index{sum: sum, byMember: map[string]*holdings{}, members: map[string][]string{}}
}

// of are the holdings of a member. The lock is held.
func (x *index) of(member string) *holdings {
	if x.byMember[member] == nil {
		x.byMember[member] = &holdings{entries: map[string]held{}, changed: map[string]uint64{}}
	}
	return x.byMember[member]
}

// set takes over the release of a placement, nil when there is none any more, and returns the members whose index
// changed.
func (x *index) set(placement string, release *api.Release) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.clock++
	var changed, members []string
	kept := map[string]bool{}
	if release != nil {
		for i := range release.Entries {
			member, entry := release.Entries[i].Member, indexEntry(placement, &release.Entries[i])
			members, kept[member] = append(members, member), true
			if x.of(member).put(entry, x.sum, x.clock) {
				changed = append(changed, member)
			}
		}
	}
	for _, member := range x.members[placement] {
		if !kept[member] {
			x.of(member).drop(placement, x.clock)
			changed = append(changed, member)
		}
	}
	x.members[placement] = members
	if len(members) == 0 {
		delete(x.members, placement)
	}
	return changed
}

// put makes an entry that of its placement, and says whether it was not.
func (h *holdings) put(entry api.IndexEntry, sum func([]byte) []byte, now uint64) bool {
	before, known := h.entries[entry.Placement]
	if known && reflect.DeepEqual(before.IndexEntry, entry) {
		return false
	}
	h.flip(before.sum)
	next := held{IndexEntry: entry, sum: sum(entryBody(&entry))}
	h.flip(next.sum)
	h.entries[entry.Placement], h.changed[entry.Placement] = next, now
	return true
}

func (h *holdings) drop(placement string, now uint64) {
	h.flip(h.entries[placement].sum)
	delete(h.entries, placement)
	h.changed[placement] = now
}

func (h *holdings) flip(sum []byte) {
	for i := range sum {
		h.sum[i] ^= sum[i]
	}
}

// entryBody is what the sum of an entry is made of.
func entryBody(entry *api.IndexEntry) []byte {
	body, _ := json.Marshal(entry) // strings, numbers and what was decoded from JSON
	return body
}

// view is the index of a member as it was looked at.
type view struct {
	sum [sha256.Size]byte
	// lists is how many placements it mentions, and changed how many came, went or changed since the newest command was
	// stored.
	lists, changed int
	at             uint64
}

// look is the index of a member as it is.
func (x *index) look(member string) view {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.view(member)
}

func (x *index) view(member string) view {
	if of := x.byMember[member]; of != nil {
		return view{sum: of.sum, lists: len(of.entries), changed: len(of.changed), at: x.clock}
	}
	return view{at: x.clock}
}

// all is the index of a member as it is, with its entries, sorted by placement and never nil.
func (x *index) all(member string) (view, []api.IndexEntry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	entries := []api.IndexEntry{}
	if of := x.byMember[member]; of != nil {
		for _, entry := range of.entries {
			entries = append(entries, entry.IndexEntry)
		}
	}
	sortEntries(entries)
	return x.view(member), entries
}

// changes is the index of a member as it is, with the entries of the placements that changed since the newest command
// was stored, and those of them that it does not mention any more; both sorted.
func (x *index) changes(member string) (v view, entries []api.IndexEntry, gone []string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if of := x.byMember[member]; of != nil {
		for placement := range of.changed {
			if entry, known := of.entries[placement]; known {
				entries = append(entries, entry.IndexEntry)
			} else {
				gone = append(gone, placement)
			}
		}
	}
	sortEntries(entries)
	slices.Sort(gone)
	return x.view(member), entries, gone
}

func sortEntries(entries []api.IndexEntry) {
	slices.SortFunc(entries, func(a, b api.IndexEntry) int { return strings.Compare(a.Placement, b.Placement) })
}

// stored says that the newest command of a member is of the index as it was looked at.
func (x *index) stored(member string, at uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	of := x.byMember[member]
	if of == nil {
		return
	}
	maps.DeleteFunc(of.changed, func(_ string, changed uint64) bool { return changed <= at })
	if len(of.entries)+len(of.changed) == 0 {
		delete(x.byMember, member)
	}
}

func indexEntry(placement string, entry *api.ReleaseEntry) api.IndexEntry {
	return api.IndexEntry{
		Placement: placement, UID: entry.UID, Generation: entry.Generation, Snapshot: entry.Snapshot, Work: entry.Work,
		Apply: entry.Apply, Withdrawn: entry.Withdrawn, Abandon: entry.Abandon,
	}
}
