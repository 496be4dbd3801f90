package streams

import (
	"context"
	"fmt"
)

// Sealed says which digests have a body that is sealed with the secret that seals now.
func (c *Content) Sealed(ctx context.Context) (func(digest string) bool, error) {
	places, err := c.Stored(ctx)
	if err != nil {
		return nil, err
	}
	there := make(map[string]bool, len(places))
	for _, at := range places {
		there[at] = true
	}
	return func(digest string) bool { return there[c.keys.Piece(digest).At] }, nil
}

// Reseal seals the body of a digest with the secret that seals now. What lies where it was is swept later. ErrNotFound,
// ErrCorrupt.
func (c *Content) Reseal(ctx context.Context, digest string) error {
	defer c.Hold()()
	body, err := c.Get(ctx, digest)
	if err != nil {
		return fmt.Errorf("sealing content %s anew: %w", digest, err)
	}
	return c.Put(ctx, digest, body)
}
