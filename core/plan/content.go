package plan

import (
	"flotilla/core/api"
	"flotilla/core/content"
)

// Compare returns how a placement's content would change between what its newest snapshot holds and
// what its selectors take from the index, nil when nothing would. Before is nil for a placement that
// has no snapshot yet.
func Compare(p *api.Placement, before *api.Snapshot, index *content.Index) *ContentChange {
	change := &ContentChange{Placement: p.Key()}
	after, err := content.Select(p.Spec.ResourceSelectors, p.Namespace, index)
	if err != nil {
		change.Error = err.Error()
		if before != nil && before.Error == change.Error {
			return nil
		}
		return change
	}
	held := map[string]string{}
	if before != nil {
		for i := range before.Manifests {
			held[content.Key(before.Manifests[i].ObjectRef)] = before.Manifests[i].Digest
		}
	}
	taken := map[string]bool{}
	for i := range after {
		key := content.Key(after[i].ObjectRef)
		taken[key] = true
		digest, had := held[key]
		switch {
		case !had:
			change.Added = append(change.Added, after[i].ObjectRef)
		case digest != after[i].Digest:
			change.Changed = append(change.Changed, after[i].ObjectRef)
		}
	}
	if before != nil {
		for i := range before.Manifests {
			if ref := before.Manifests[i].ObjectRef; !taken[content.Key(ref)] {
				change.Removed = append(change.Removed, ref)
			}
		}
	}
	if len(change.Added)+len(change.Changed)+len(change.Removed) == 0 {
		return nil
	}
	return change
}
