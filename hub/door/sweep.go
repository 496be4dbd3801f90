package door

import (
	"context"
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
	removed, err := d.store.Content.Sweep(ctx, now, d.roots)
	if err != nil {
		d.options.Log.Warn().Err(err).Msg("sweeping content")
		return
	}
	if len(removed) > 0 {
		d.options.Log.Info().Int("bodies", len(removed)).Msg("swept content that nothing refers to")
	}
}

// roots are the digests of all content that something refers to: heads, retained snapshots, and what a
// release lets members run.
func (d *Door) roots() (map[string]bool, error) {
	if !d.store.State.Synced() {
		return nil, bus.ErrNotSynced
	}
	// What cannot be read may refer to anything.
	objects, err := d.records.objects.FindAll()
	if err != nil {
		return nil, err
	}
	snapshots, err := d.records.snapshots.FindAll()
	if err != nil {
		return nil, err
	}
	releases, err := d.records.releases.FindAll()
	if err != nil {
		return nil, err
	}
	roots := map[string]bool{}
	for _, head := range objects {
		roots[head.Value.Digest] = true
		roots[head.Value.ManifestDigest()] = true
		roots[head.Value.SealedOverlay] = true
	}
	for _, snapshot := range snapshots {
		roots[snapshot.Value.Work] = true
		for i := range snapshot.Value.Manifests {
			roots[snapshot.Value.Manifests[i].Digest] = true
		}
	}
	for _, release := range releases {
		for i := range release.Value.Entries {
			roots[release.Value.Entries[i].Work] = true
		}
	}
	delete(roots, "") // of those without
	return roots, nil
}
