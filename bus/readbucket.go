package bus

import (
	"context"
	"errors"
	"sync"

	"github.com/nats-io/nats.go/jetstream"
)

// readBucket reads all that lies in a bucket now; a bucket that does not exist is empty.
func readBucket(ctx context.Context, c *Conn, bucket string) (map[string]cell, error) {
	if _, err := c.JS.Stream(ctx, c.Fleet.BucketStream(bucket)); errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	m := newMirror(func(string) {})
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { newFeed(c, bucketSource(c.Fleet, bucket), m).run(ctx) })
	if err := m.waitSynced(ctx); err != nil {
		return nil, err
	}
	return m.snapshot(), nil
}
