package advice

import (
	"maps"
	"slices"

	"flotilla/core/api"
	"flotilla/core/disruption"
)

// Effects tells what edits do to the nodes of each pool: missing prices at the pool and at the catalogs that lack them, and
// drift at the pool itself, else at the first edit that is no pool, where it is so many nodes that nobody may have meant it
// (N20). Edits are pools first, then catalogs, node classes and members.
func Effects(effects []disruption.Effect, edits []api.ObjectRef, tell func(at api.ObjectRef, note string)) {
	for i := range effects {
		e := &effects[i]
		for _, ref := range edits {
			for _, catalog := range slices.Sorted(maps.Keys(e.Unlisted)) {
				if isPool(ref, e.Pool) || ref.Kind == api.KindInstanceCatalog && ref.Name == catalog {
					tell(ref, e.UnlistedNote(catalog))
				}
			}
		}
		if e.Many() {
			tell(blamed(e.Pool, edits), e.DriftNote())
		}
	}
}

// blamed is the edit at which the drift of a pool is told.
func blamed(pool string, edits []api.ObjectRef) api.ObjectRef {
	at := slices.IndexFunc(edits, func(ref api.ObjectRef) bool { return isPool(ref, pool) })
	if at < 0 {
		at = slices.IndexFunc(edits, func(ref api.ObjectRef) bool { return ref.Kind != api.KindNodePool })
	}
	return edits[max(0, at)]
}

func isPool(ref api.ObjectRef, name string) bool {
	return ref.Kind == api.KindNodePool && ref.Name == name
}
