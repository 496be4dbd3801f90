package streams

import (
	"context"

	"flotilla/bus"

	"github.com/nats-io/nats.go/jetstream"
)

// window is the part of a stream that a query reads, at most so many messages between two sequences of it: first is that of the
// stream, end is left out.
type window struct {
	conn       *bus.Conn
	of         part
	first, end uint64
	most       uint64
}

// last begins the newest messages, whichever they are.
func (w *window) last() uint64 {
	if w.end < w.first+w.most {
		return w.first
	}
	return w.end - w.most
}

// start is where the window begins: at the beginning of the stream where no more messages pass the filter, so that those of an object
// are found wherever they lie, and otherwise where last does. The server knows the number for all of a stream without reading it,
// and of no other part: that is why there is no closer look.
func (w *window) start(ctx context.Context) (uint64, error) {
	if w.last() == w.first {
		return w.first, nil
	}
	consumer, forget, err := open(ctx, w.conn, w.of.stream, jetstream.ConsumerConfig{FilterSubject: w.of.filter})
	if err != nil {
		return 0, err
	}
	defer forget()
	if consumer.CachedInfo().NumPending <= w.most {
		return w.first, nil
	}
	return w.last(), nil
}
