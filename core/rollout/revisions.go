package rollout

import (
	"slices"
	"strings"

	"flotilla/core/api"
)

// Revisions are snapshots as people read of them, with how many members a release gives each to.
func (h History) Revisions(release *api.Release) []api.Revision {
	out := make([]api.Revision, len(h))
	members := map[int64]int{}
	for i := range release.Entries {
		if e := &release.Entries[i]; !e.Withdrawn {
			members[e.Snapshot]++
		}
	}
	for i, s := range h {
		r := &out[i]
		*r = api.Revision{Revision: s.Index, Created: s.Created, By: s.By, Members: members[s.Index], Objects: len(s.Manifests), Error: s.Error}
		if s.Undo != nil {
			r.UndoneTo, r.Pinned = s.Undo.Of, s.Pinned() && i == len(h)-1
		}
		if i > 0 {
			compare(r, h[i-1], s)
		}
	}
	return out
}

// compare lists what became of objects between two snapshots.
func compare(r *api.Revision, before, after *api.Snapshot) {
	if after.Error != "" {
		return
	}
	had := make(map[api.ObjectRef]string, len(before.Manifests))
	for i := range before.Manifests {
		had[before.Manifests[i].ObjectRef] = before.Manifests[i].Digest
	}
	for i := range after.Manifests {
		m := &after.Manifests[i]
		digest, held := had[m.ObjectRef]
		delete(had, m.ObjectRef)
		switch {
		case !held:
			r.Added = append(r.Added, m.ObjectRef)
		case digest != m.Digest:
			r.Changed = append(r.Changed, m.ObjectRef)
		}
	}
	for ref := range had {
		r.Removed = append(r.Removed, ref)
	}
	slices.SortFunc(r.Removed, func(a, b api.ObjectRef) int { return strings.Compare(a.String(), b.String()) })
}
