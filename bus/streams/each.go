package streams

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"flotilla/bus"

	"github.com/nats-io/nats.go"
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

// eachBefore is Each up to a sequence of the stream, which is left out. Where messages were lost on their way it reads anew.
func eachBefore(ctx context.Context, c *bus.Conn, stream string, config jetstream.ConsumerConfig, end uint64, f func(jetstream.Msg, *jetstream.MsgMetadata)) error {
	r := &reader{end: end, take: f}
	for try := 1; ; try++ {
		err := r.read(ctx, c, stream, config)
		if errors.Is(err, errMissed) && try < tries && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading stream %s: %w", stream, err)
		}
		return nil
	}
}

const (
	pageOfMessages = 500
	// pageWithin is how long the messages of a page are waited for. The library takes silence for the end of a page, so that what does not
	// come says nothing of what there is.
	pageWithin = time.Second
	// mostEmpty is how often in a row none may come.
	mostEmpty = 5
)

// tries is how often a stream is read of which messages do not come.
const tries = 3

// errMissed says that messages were delivered and did not come.
var errMissed = errors.New("messages did not come, which the server has sent")

// reader reads what a consumer finds, page by page.
type reader struct {
	end  uint64
	take func(jetstream.Msg, *jetstream.MsgMetadata)
	seen uint64 // stream sequence of the newest message that was taken

	consumer jetstream.Consumer
	pending  uint64 // messages to come
	last     uint64 // consumer sequence of the newest message that came
}

// read reads all that was not taken yet.
func (r *reader) read(ctx context.Context, c *bus.Conn, stream string, config jetstream.ConsumerConfig) error {
	consumer, forget, err := open(ctx, c, stream, config)
	if err != nil {
		return err
	}
	defer forget()
	r.consumer, r.pending, r.last = consumer, consumer.CachedInfo().NumPending, 0
	for silent := 0; r.pending > 0; {
		got, err := r.page()
		if err == nil && !got {
			err = r.ask(ctx)
		}
		if err != nil {
			return err
		}
		if silent++; got {
			silent = 0
		}
		if silent > mostEmpty {
			return fmt.Errorf("%d messages do not come: %w", r.pending, nats.ErrTimeout)
		}
	}
	return nil
}

// page reads a page, and says whether any of it came.
func (r *reader) page() (got bool, err error) {
	batch, err := r.consumer.Fetch(int(min(r.pending, pageOfMessages)), jetstream.FetchMaxWait(pageWithin))
	if err != nil {
		return false, err
	}
	for m := range batch.Messages() {
		got = true
		if err == nil {
			err = r.message(m)
		}
	}
	return got, errors.Join(err, batch.Error())
}

// ask asks the server what is to come: the rest may have been replaced or purged, or was sent when nobody waited for it any more.
func (r *reader) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, bus.AskTimeout)
	defer cancel()
	info, err := r.consumer.Info(ctx)
	if err != nil {
		return err
	}
	if info.Delivered.Consumer != r.last {
		return errMissed
	}
	r.pending = info.NumPending
	return nil
}

// message takes a message. What was fetched with the first one that is left out is read, so that the fetch ends.
func (r *reader) message(m jetstream.Msg) error {
	meta, err := m.Metadata()
	if err != nil {
		return err
	}
	if r.last++; meta.Sequence.Consumer != r.last {
		return errMissed
	}
	if r.pending = meta.NumPending; meta.Sequence.Stream >= r.end {
		r.pending = 0
		return nil
	}
	if meta.Sequence.Stream > r.seen {
		r.seen = meta.Sequence.Stream
		r.take(m, meta)
	}
	return nil
}
