// Package bundles lays out what holds the manifests of the snapshots that one draft cuts. Placements that select the same share it: it is
// worked out, sealed and stored once. Package draft uses it.
package bundles

import (
	"hash/maphash"
	"slices"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/core/content"
)

// Layout lays out snapshots. One goroutine uses it at a time.
type Layout struct {
	// Plan is what bundles are cut by, without Earlier.
	Plan content.Plan

	bundles []content.Bundle
	laid    map[uint64][]laid // by what of gives
}

// laid is what was laid out: manifests, upon earlier works.
type laid struct {
	manifests []api.Manifest
	earlier   []string
	work      string
	packs     []string
}

// Bundles are those that were made.
func (l *Layout) Bundles() []content.Bundle { return l.bundles }

// Known gives a snapshot the work and packs of an earlier one of its placement that held the same; false where none did.
func Known(next *api.Snapshot, kept []store.Entry[api.Snapshot]) bool {
	for i := range kept {
		if one := &kept[i].Value; slices.Equal(one.Manifests, next.Manifests) {
			next.Work, next.Packs = one.Work, one.Packs
			return true
		}
	}
	return false
}

// Lay gives a snapshot the work that holds its manifests, and its packs: those that are Known, else bundles that are built upon an earlier one
// where that saves much.
func (l *Layout) Lay(next *api.Snapshot, kept []store.Entry[api.Snapshot]) error {
	if Known(next, kept) {
		return nil
	}
	plan := l.Plan
	var earlier []string
	for i := range kept {
		if one := &kept[i].Value; len(one.Packs) == 0 {
			plan.Earlier = append(plan.Earlier, content.Earlier{Work: one.Work, Manifests: one.Manifests})
			earlier = append(earlier, one.Work)
		}
	}
	key := of(next.Manifests, earlier)
	for _, same := range l.laid[key] {
		if slices.Equal(same.manifests, next.Manifests) && slices.Equal(same.earlier, earlier) {
			next.Work, next.Packs = same.work, slices.Clone(same.packs)
			return nil
		}
	}
	made, err := plan.Bundles(next.Manifests)
	if err != nil {
		return err
	}
	l.bundles = append(l.bundles, made...)
	work := &made[len(made)-1]
	next.Work = work.Digest
	for i := range work.Work.Packs {
		next.Packs = append(next.Packs, work.Work.Packs[i].Digest)
	}
	if l.laid == nil {
		l.laid = map[uint64][]laid{}
	}
	l.laid[key] = append(l.laid[key], laid{next.Manifests, earlier, next.Work, slices.Clone(next.Packs)})
	return nil
}

var seed = maphash.MakeSeed()

// of is the same for the same manifests upon the same works.
func of(manifests []api.Manifest, earlier []string) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for i := range manifests {
		maphash.WriteComparable(&h, manifests[i])
	}
	for _, work := range earlier {
		maphash.WriteComparable(&h, work)
	}
	return h.Sum64()
}
