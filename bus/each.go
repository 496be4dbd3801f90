package bus

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"
)

// each reads what a consumer of a stream finds there now, in order, and stops at its end.
func each(ctx context.Context, c *Conn, stream string, config jetstream.ConsumerConfig, f func(jetstream.Msg, *jetstream.MsgMetadata)) error {
	config.AckPolicy = jetstream.AckNonePolicy
	config.MemoryStorage = true
	config.Replicas = 1
	config.InactiveThreshold = inactiveAfter
	consumer, err := c.JS.CreateConsumer(ctx, stream, config)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
		defer cancel()
		_ = c.JS.DeleteConsumer(ctx, stream, consumer.CachedInfo().Name) // else the server forgets it soon
	}()
	for pending := consumer.CachedInfo().NumPending; pending > 0; {
		batch, err := consumer.FetchNoWait(pageOfMessages)
		if err != nil {
			return err
		}
		got := 0
		for m := range batch.Messages() {
			meta, err := m.Metadata()
			if err != nil {
				return err
			}
			got++
			pending = meta.NumPending
			f(m, meta)
		}
		if err := batch.Error(); err != nil {
			return err
		}
		if got == 0 { // the rest was replaced or purged meanwhile
			return nil
		}
	}
	return nil
}

const pageOfMessages = 500
