package keep

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"flotilla/bus"
	"flotilla/core/api"
)

// Referred are the digests of content that something refers to.
type Referred struct {
	Bodies, Works map[string]bool
	// Packs are those of works that others name; rendered are those that name works of snapshots.
	Packs, rendered map[string]bool
}

// rank orders works: what is named goes before what names it.
func (r *Referred) rank(work string) int {
	switch {
	case r.Packs[work]:
		return 0
	case r.rendered[work]:
		return 2
	}
	return 1
}

// inOrder are works, each after those that it names: a work is not to name what is not there yet.
func (r *Referred) inOrder() []string {
	return slices.SortedFunc(maps.Keys(r.Works), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.rank(a), r.rank(b)), strings.Compare(a, b))
	})
}

// Referred is what heads, retained snapshots, overrides, and what releases let members run refer to.
func (k *Keeper) Referred() (*Referred, error) {
	all := &Referred{Bodies: map[string]bool{}, Works: map[string]bool{}, Packs: map[string]bool{}, rendered: map[string]bool{}}
	if !k.store.State.Synced() {
		return all, bus.ErrNotSynced
	}
	// What cannot be read may refer to anything.
	objects, err := k.records.Objects.FindAll()
	if err != nil {
		return all, err
	}
	snapshots, err := k.records.Snapshots.FindAll()
	if err != nil {
		return all, err
	}
	releases, err := k.records.Releases.FindAll()
	if err != nil {
		return all, err
	}
	if err := k.referOverrides(all); err != nil {
		return all, err
	}
	for _, head := range objects {
		all.Bodies[head.Value.Digest] = true
		all.Bodies[head.Value.ManifestDigest()] = true
		all.Bodies[head.Value.SealedOverlay], all.Bodies[head.Value.SealedManaged] = true, true
		for i := range head.Value.Wrapped {
			all.Bodies[head.Value.Wrapped[i].Digest] = true
		}
	}
	for _, snapshot := range snapshots {
		all.Works[snapshot.Value.Work] = true
		for _, pack := range snapshot.Value.Packs {
			all.Works[pack], all.Packs[pack] = true, true
		}
		for i := range snapshot.Value.Manifests {
			all.Bodies[snapshot.Value.Manifests[i].Digest] = true
		}
	}
	for _, release := range releases {
		for i := range release.Value.Entries {
			e := &release.Value.Entries[i]
			all.Works[e.Work] = true
			if e.Earlier != nil {
				all.Works[e.Earlier.Work] = true
			}
		}
	}
	delete(all.Bodies, "") // of those without
	delete(all.Works, "")
	return all, nil
}

// referOverrides adds what overrides that put values into Secrets refer to, and the works that were made by overrides.
func (k *Keeper) referOverrides(all *Referred) error {
	specs, err := k.records.Specs[api.KindClusterResourceOverride].FindAll()
	if err != nil {
		return err
	}
	for _, spec := range specs {
		all.Bodies[spec.Value.Digest], all.Bodies[spec.Value.SealedOverlay], all.Bodies[spec.Value.SealedManaged] = true, true, true
	}
	renderings, err := k.records.Renderings.FindAll()
	if err != nil {
		return err
	}
	for _, rendering := range renderings {
		for _, made := range rendering.Value.Works {
			all.Works[made.Work], all.rendered[made.Work] = true, true
			for _, pack := range made.Packs {
				all.Works[pack], all.Packs[pack] = true, true
			}
		}
	}
	return nil
}
