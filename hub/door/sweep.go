package door

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"flotilla/bus"
)

// sweepEvery is how often content that nothing refers to is looked for. The store removes what two
// passes an hour apart found unreferenced.
const sweepEvery = time.Hour

func (d *Door) sweep(ctx context.Context) {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			d.sweepOnce(ctx, now)
		}
	}
}

func (d *Door) sweepOnce(ctx context.Context, now time.Time) {
	removed, err := d.store.Content.Sweep(ctx, now, d.needed)
	if err != nil {
		d.options.Log.Warn().Err(err).Msg("sweeping content")
		return
	}
	if len(removed) > 0 {
		d.options.Log.Info().Int("bodies", len(removed)).Msg("swept content that nothing refers to")
	}
}

// needed are roots, and whether all of them are sealed with the newest secret.
func (d *Door) needed() (map[string]bool, bool, error) {
	in, err := d.store.Sealing()
	if err != nil {
		return nil, false, err
	}
	roots, err := d.roots()
	return roots, len(in.Content) == 1, err
}

// roots are the digests of all content that something refers to: heads, retained snapshots, and what a
// release lets members run.
func (d *Door) roots() (map[string]bool, error) {
	all, err := d.referred()
	maps.Copy(all.bodies, all.works)
	return all.bodies, err
}

// referred are the digests of content that something refers to.
type referred struct {
	bodies, works map[string]bool
	// packs are those of works that others name; rendered are those that name works of snapshots.
	packs, rendered map[string]bool
}

// rank orders works: what is named goes before what names it.
func (r *referred) rank(work string) int {
	switch {
	case r.packs[work]:
		return 0
	case r.rendered[work]:
		return 2
	}
	return 1
}

// inOrder are works, each after those that it names: a work is not to name what is not there yet.
func (r *referred) inOrder() []string {
	return slices.SortedFunc(maps.Keys(r.works), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.rank(a), r.rank(b)), strings.Compare(a, b))
	})
}

func (d *Door) referred() (*referred, error) {
	all := &referred{bodies: map[string]bool{}, works: map[string]bool{}, packs: map[string]bool{}, rendered: map[string]bool{}}
	if !d.store.State.Synced() {
		return all, bus.ErrNotSynced
	}
	// What cannot be read may refer to anything.
	objects, err := d.records.Objects.FindAll()
	if err != nil {
		return all, err
	}
	snapshots, err := d.records.Snapshots.FindAll()
	if err != nil {
		return all, err
	}
	releases, err := d.records.Releases.FindAll()
	if err != nil {
		return all, err
	}
	if err := d.referOverrides(all); err != nil {
		return all, err
	}
	for _, head := range objects {
		all.bodies[head.Value.Digest] = true
		all.bodies[head.Value.ManifestDigest()] = true
		all.bodies[head.Value.SealedOverlay] = true
		for i := range head.Value.Wrapped {
			all.bodies[head.Value.Wrapped[i].Digest] = true
		}
	}
	for _, snapshot := range snapshots {
		all.works[snapshot.Value.Work] = true
		for _, pack := range snapshot.Value.Packs {
			all.works[pack], all.packs[pack] = true, true
		}
		for i := range snapshot.Value.Manifests {
			all.bodies[snapshot.Value.Manifests[i].Digest] = true
		}
	}
	for _, release := range releases {
		for i := range release.Value.Entries {
			all.works[release.Value.Entries[i].Work] = true
		}
	}
	delete(all.bodies, "") // of those without
	delete(all.works, "")
	return all, nil
}
