package streams

import (
	"context"
	"math"

	"flotilla/bus"

	"github.com/nats-io/nats.go/jetstream"
)

// Each reads what a consumer of a stream finds there now, in order, and stops at its end.
func Each(ctx context.Context, c *bus.Conn, stream string, config jetstream.ConsumerConfig, f func(jetstream.Msg, *jetstream.MsgMetadata)) error {
	return eachBefore(ctx, c, stream, config, math.MaxUint64, f)
}

// open makes a consumer that reads for a while, and returns what ends it.
func open(ctx context.Context, c *bus.Conn, stream string, config jetstream.ConsumerConfig) (jetstream.Consumer, func(), error) {
	config.AckPolicy = jetstream.AckNonePolicy
	config.MemoryStorage = true
	config.Replicas = 1
	config.InactiveThreshold = bus.InactiveAfter
	consumer, err := c.JS.CreateConsumer(ctx, stream, config)
	if err != nil {
		return nil, nil, err
	}
	return consumer, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bus.AskTimeout)
		defer cancel()
		_ = c.JS.DeleteConsumer(ctx, stream, consumer.CachedInfo().Name) // else the server forgets it soon
	}, nil
}

// eachBefore is Each up to a sequence of the stream, which is left out.
func eachBefore(ctx context.Context, c *bus.Conn, stream string, config jetstream.ConsumerConfig, end uint64, f func(jetstream.Msg, *jetstream.MsgMetadata)) error {
	consumer, forget, err := open(ctx, c, stream, config)
	if err != nil {
		return err
	}
	defer forget()
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
			if pending = meta.NumPending; meta.Sequence.Stream >= end {
				pending = 0
				continue // what was fetched with it is read, so that the fetch ends
			}
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
