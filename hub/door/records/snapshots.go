package records

import (
	"slices"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/subjects"
)

// BrokenSnapshots are those of a placement that cannot be read, with their indices.
func (r *Tables) BrokenSnapshots(placement string) map[string]int64 {
	broken := map[string]int64{}
	for name := range r.Snapshots.Broken() {
		if of, index, ok := subjects.SplitSnapshot(name); ok && of == placement {
			broken[name] = index
		}
	}
	return broken
}

// maxHistoryObjects bounds the objects in all snapshots of a placement that are kept, beyond as many snapshots as placements keep
// that ask for nothing: a hub has each of them in memory.
const maxHistoryObjects = 100_000

// Surplus are the oldest of the kept snapshots of a placement, which are more than its history limit with the new one that it gets, or
// hold too many objects. One that a release still names, or that a staged run is to bring and is among needed, is none of them.
func (r *Tables) Surplus(p *api.Placement, kept []store.Entry[api.Snapshot], needed map[int64]bool) (surplus []store.Entry[api.Snapshot]) {
	limit := api.DefaultRevisionHistoryLimit
	if p.Spec.RevisionHistoryLimit != nil {
		limit = int(*p.Spec.RevisionHistoryLimit)
	}
	gone := max(len(kept)+1-limit, beyond(kept))
	if gone <= 0 {
		return nil
	}
	release, _, _, err := r.Releases.Find(p.Key())
	if err != nil {
		return nil // it may name any of them
	}
	for i := range release.Entries {
		e := &release.Entries[i]
		needed[e.Snapshot] = true
		if e.Earlier != nil {
			needed[e.Earlier.Snapshot] = true
		}
	}
	for _, old := range kept[:gone] {
		if !needed[old.Value.Index] {
			surplus = append(surplus, old)
		}
	}
	return surplus
}

// beyond is how many of the oldest of kept there is no room for beside the newer ones.
func beyond(kept []store.Entry[api.Snapshot]) int {
	objects, newer := 0, 1 // the new one
	for i, old := range slices.Backward(kept) {
		objects += len(old.Value.Manifests)
		if newer++; newer > api.DefaultRevisionHistoryLimit && objects > maxHistoryObjects {
			return i + 1
		}
	}
	return 0
}

// Unread are the stored objects that cannot be read, sorted, without those that are written now.
func (r *Tables) Unread(written []string) (unread []string) {
	for name := range r.Objects.Broken() {
		if !slices.Contains(written, name) {
			unread = append(unread, name)
		}
	}
	slices.Sort(unread)
	return unread
}
