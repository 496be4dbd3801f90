package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go/jetstream"
)

// rawBuckets are the buckets whose records can be read as they are kept.
var rawBuckets = []string{subjects.State, subjects.Lease, subjects.Heartbeat, subjects.Result}

// RawRecord reads one stored value of a bucket of the hub or of agents, unpacked; nil when there is none. A failure
// when the bucket is none of them.
func RawRecord(ctx context.Context, c *Conn, bucket, key string) ([]byte, error) {
	if !slices.Contains(rawBuckets, bucket) {
		return nil, &api.Failure{Code: api.CodeInvalid, Message: "bucket " + bucket + ": expected one of " + strings.Join(rawBuckets, ", ")}
	}
	if err := subjects.CheckLength(c.Fleet.BucketSubject(bucket, key), "the key"); err != nil {
		return nil, err
	}
	kv, err := c.JS.KeyValue(ctx, c.Fleet.Bucket(bucket))
	if err != nil {
		return nil, fmt.Errorf("opening bucket %s: %w", bucket, err)
	}
	entry, err := kv.Get(ctx, key)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrInvalidKey):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading %s of bucket %s: %w", key, bucket, err)
	}
	return Unpack(entry.Value())
}
