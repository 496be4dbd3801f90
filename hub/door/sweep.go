package door

import (
	"context"
	"maps"
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
	roots, works, err := d.referred()
	maps.Copy(roots, works)
	return roots, err
}

// referred are the digests of bodies and of works that something refers to.
func (d *Door) referred() (bodies, works map[string]bool, err error) {
	bodies, works = map[string]bool{}, map[string]bool{}
	if !d.store.State.Synced() {
		return bodies, works, bus.ErrNotSynced
	}
	// What cannot be read may refer to anything.
	objects, err := d.records.Objects.FindAll()
	if err != nil {
		return bodies, works, err
	}
	snapshots, err := d.records.Snapshots.FindAll()
	if err != nil {
		return bodies, works, err
	}
	releases, err := d.records.Releases.FindAll()
	if err != nil {
		return bodies, works, err
	}
	for _, head := range objects {
		bodies[head.Value.Digest] = true
		bodies[head.Value.ManifestDigest()] = true
		bodies[head.Value.SealedOverlay] = true
	}
	for _, snapshot := range snapshots {
		works[snapshot.Value.Work] = true
		for i := range snapshot.Value.Manifests {
			bodies[snapshot.Value.Manifests[i].Digest] = true
		}
	}
	for _, release := range releases {
		for i := range release.Value.Entries {
			works[release.Value.Entries[i].Work] = true
		}
	}
	delete(bodies, "") // of those without
	delete(works, "")
	return bodies, works, nil
}
