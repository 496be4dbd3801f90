package door

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"flotilla/bus"
	"flotilla/bus/loop"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/seal"
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
	bodies, works, err := d.referred()
	if err != nil {
		return err
	}
	sealed, err := d.store.Content.Sealed(ctx)
	if err != nil {
		return err
	}
	d.resealing.done.Store(0)
	d.resealing.of.Store(int64(len(bodies) + len(works)))
	// Bodies before the works that name where they lie.
	if err := d.resealThose(ctx, bodies, sealed, func(string) func([]byte) ([]byte, error) { return nil }); err != nil {
		return err
	}
	if err := d.resealThose(ctx, works, sealed, func(digest string) func([]byte) ([]byte, error) {
		return func(body []byte) ([]byte, error) { return workAnew(digest, body, d.store.Keys) }
	}); err != nil {
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
func (d *Door) resealThose(ctx context.Context, digests map[string]bool, sealed func(string) bool, changed func(string) func([]byte) ([]byte, error)) error {
	for _, digest := range slices.Sorted(maps.Keys(digests)) {
		if !sealed(digest) {
			err := d.store.Content.Reseal(ctx, digest, changed(digest))
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

// workAnew is a work with what opens its manifests now.
func workAnew(digest string, body []byte, keys *seal.Keyring) ([]byte, error) {
	var work api.Work
	if err := json.Unmarshal(body, &work); err != nil {
		return nil, fmt.Errorf("decoding: %w", err)
	}
	manifests := make([]api.Manifest, len(work.Manifests))
	for i := range work.Manifests {
		manifests[i] = work.Manifests[i].Manifest
	}
	anew, same, err := content.Work(manifests, keys)
	if err == nil && same != digest {
		err = fmt.Errorf("it is the work %s: %w", same, bus.ErrCorrupt)
	}
	return anew, err
}
