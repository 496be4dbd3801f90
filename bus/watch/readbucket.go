package watch

import (
	"context"
	"errors"
	"sync"

	"flotilla/bus"

	"github.com/nats-io/nats.go/jetstream"
)

// Read reads all that lies in a bucket now; a bucket that does not exist is empty.
func Read(ctx context.Context, c *bus.Conn, bucket string) (map[string]Cell, error) {
	if _, err := c.JS.Stream(ctx, c.Fleet.BucketStream(bucket)); errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	m := NewMirror(func(string) {})
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { NewFeed(c, BucketSource(c.Fleet, bucket), m).Run(ctx) })
	if err := m.WaitSynced(ctx); err != nil {
		return nil, err
	}
	return m.Snapshot(), nil
}
