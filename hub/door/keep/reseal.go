package keep

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"flotilla/bus"
	"flotilla/bus/loop"
	"flotilla/core/api"
	"flotilla/core/content"
)

// Pauses between tries to seal content anew.
const (
	resealFirst = time.Second
	resealLast  = 5 * time.Minute
)

// resealAlways seals content anew, after a rotation of secrets, until all of it is sealed with the newest. A hub that is
// stopped on the way leaves the rest to the next.
func (k *Keeper) resealAlways(ctx context.Context) {
	retry := loop.Backoff{First: resealFirst, Most: resealLast}
	for ctx.Err() == nil {
		err := k.Reseal(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		delay := retry.Next()
		k.log.Warn().Err(err).Dur("retry", delay).Msg("sealing content with the newest secret")
		loop.Pause(ctx, delay)
	}
}

// Reseal is one pass over all content.
func (k *Keeper) Reseal(ctx context.Context) error {
	in, err := k.store.Sealing()
	if err != nil || len(in.Content) < 2 {
		return err
	}
	all, err := k.Referred()
	if err != nil {
		return err
	}
	sealed, err := k.store.Content.Sealed(ctx)
	if err != nil {
		return err
	}
	k.done.Store(0)
	k.of.Store(int64(len(all.Bodies) + len(all.Works)))
	if err := k.resealThose(ctx, slices.Sorted(maps.Keys(all.Bodies)), sealed, k.store.Content.Reseal); err != nil {
		return err
	}
	if err := k.resealThose(ctx, all.inOrder(), sealed, k.rebundle); err != nil {
		return err
	}
	if err := k.store.Resealed(ctx); err != nil {
		return err
	}
	k.log.Info().Str("secret", in.Content[0]).Int64("bodies", k.of.Load()).
		Msg("all content is sealed with the newest secret; those before may go: flotilla secrets prune")
	return nil
}

// resealThose seals what is not sealed with the newest secret yet. What is gone or damaged stays so.
func (k *Keeper) resealThose(ctx context.Context, digests []string, sealed func(string) bool, anew func(ctx context.Context, digest string) error) error {
	for _, digest := range digests {
		if !sealed(digest) {
			err := anew(ctx, digest)
			if errors.Is(err, bus.ErrNotFound) || errors.Is(err, bus.ErrCorrupt) {
				k.log.Warn().Err(err).Msg("content that cannot be read is not sealed anew")
				err = nil
			}
			if err != nil {
				return err
			}
		}
		k.done.Add(1)
	}
	return nil
}

// rebundle seals a work anew, with what opens its manifests now.
func (k *Keeper) rebundle(ctx context.Context, digest string) error {
	return k.store.Content.Rebundle(ctx, digest, func(work api.Work) api.Work { return content.Keyed(work, k.store.Keys) })
}
