package bus

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// RawRecord reads one stored value of a bucket, unpacked; nil when there is none.
func RawRecord(ctx context.Context, c *Conn, bucket, key string) ([]byte, error) {
	kv, err := c.JS.KeyValue(ctx, c.Fleet.Bucket(bucket))
	if err != nil {
		return nil, fmt.Errorf("opening bucket %s: %w", bucket, err)
	}
	entry, err := kv.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrInvalidKey) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s of bucket %s: %w", key, bucket, err)
	}
	return Unpack(entry.Value())
}
