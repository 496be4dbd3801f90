package keep

import (
	"context"
	"maps"
	"time"
)

// sweepEvery is how often content that nothing refers to is looked for. The store removes what two
// passes an hour apart found unreferenced.
const sweepEvery = time.Hour

func (k *Keeper) sweepAlways(ctx context.Context) {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			k.Sweep(ctx, now)
		}
	}
}

// Sweep is one pass: it removes what a pass an hour or more before found unreferenced too.
func (k *Keeper) Sweep(ctx context.Context, now time.Time) {
	removed, err := k.store.Content.Sweep(ctx, now, k.needed)
	if err != nil {
		k.log.Warn().Err(err).Msg("sweeping content")
		return
	}
	if len(removed) > 0 {
		k.log.Info().Int("bodies", len(removed)).Msg("swept content that nothing refers to")
	}
}

// needed are roots, and whether all of them are sealed with the newest secret.
func (k *Keeper) needed() (map[string]bool, bool, error) {
	in, err := k.store.Sealing()
	if err != nil {
		return nil, false, err
	}
	roots, err := k.roots()
	return roots, len(in.Content) == 1, err
}

// roots are the digests of all content that something refers to: heads, retained snapshots, and what a
// release lets members run.
func (k *Keeper) roots() (map[string]bool, error) {
	all, err := k.Referred()
	maps.Copy(all.Bodies, all.Works)
	return all.Bodies, err
}
