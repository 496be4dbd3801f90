package door

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
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

// resealing is how far content has been sealed anew.
type resealing struct{ done, of atomic.Int64 }

// reseal seals content anew, after a rotation of secrets, until all of it is sealed with the newest. A hub that is
// stopped on the way leaves the rest to the next.
func (d *Door) reseal(ctx context.Context) {
	retry := loop.Backoff{First: resealFirst, Most: resealLast}
	for ctx.Err() == nil {
		err := d.resealAll(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		delay := retry.Next()
		d.options.Log.Warn().Err(err).Dur("retry", delay).Msg("sealing content with the newest secret")
		loop.Pause(ctx, delay)
	}
}

func (d *Door) resealAll(ctx context.Context) error {
	in, err := d.store.Sealing()
	if err != nil || len(in.Content) < 2 {
		return err
	}
	all, err := d.referred()
	if err != nil {
		return err
	}
	sealed, err := d.store.Content.Sealed(ctx)
	if err != nil {
		return err
	}
	d.resealing.done.Store(0)
	d.resealing.of.Store(int64(len(all.bodies) + len(all.works)))
	if err := d.resealThose(ctx, slices.Sorted(maps.Keys(all.bodies)), sealed, d.store.Content.Reseal); err != nil {
		return err
	}
	if err := d.resealThose(ctx, all.inOrder(), sealed, d.rebundle); err != nil {
		return err
	}
	if err := d.store.Resealed(ctx); err != nil {
		return err
	}
	d.options.Log.Info().Str("secret", in.Content[0]).Int64("bodies", d.resealing.of.Load()).
		Msg("all content is sealed with the newest secret; those before may go: flotilla secrets prune")
	return nil
}

// resealThose seals what is not sealed with the newest secret yet. What is gone or damaged stays so.
func (d *Door) resealThose(ctx context.Context, digests []string, sealed func(string) bool, anew func(ctx context.Context, digest string) error) error {
	for _, digest := range digests {
		if !sealed(digest) {
			err := anew(ctx, digest)
			if errors.Is(err, bus.ErrNotFound) || errors.Is(err, bus.ErrCorrupt) {
				d.options.Log.Warn().Err(err).Msg("content that cannot be read is not sealed anew")
				err = nil
			}
			if err != nil {
				return err
			}
		}
		d.resealing.done.Add(1)
	}
	return nil
}

// rebundle seals a work anew, with what opens its manifests now.
func (d *Door) rebundle(ctx context.Context, digest string) error {
	return d.store.Content.Rebundle(ctx, digest, func(work api.Work) api.Work { return content.Keyed(work, d.store.Keys) })
}
