package streams

import (
	"context"
	"sort"

	"flotilla/bus"

	"github.com/nats-io/nats.go/jetstream"
)

// window is the part of a stream that a query reads: it ends before a sequence, and begins as early as no
// more than so many events that pass the filter lie in it.
type window struct {
	conn       *bus.Conn
	of         part
	first, end uint64 // first is that of the stream
	most       uint64
}

// last begins a window that no filter is needed for: there are not more sequences in it.
func (w *window) last() uint64 {
	if w.end < w.first+w.most {
		return w.first
	}
	return w.end - w.most
}

// start is where the window begins, at least half full unless the stream begins there. Few events are thus found
// wherever they lie, and many page by page.
func (w *window) start(ctx context.Context) (uint64, error) {
	if w.last() == w.first {
		return w.first, nil
	}
	later, err := w.from(ctx, w.end)
	if err != nil {
		return 0, err
	}
	fits := func(start uint64) bool {
		if err != nil {
			return false
		}
		var count uint64
		count, err = w.from(ctx, start)
		return count <= later+w.most // events that came meanwhile make it shorter
	}
	if fits(w.first) {
		return w.first, err
	}
	step := w.most / 2
	steps := (w.last() - w.first) / step
	more := sort.Search(int(steps), func(i int) bool { return !fits(w.last() - uint64(i+1)*step) })
	return w.last() - uint64(more)*step, err
}

// from counts the events from a sequence on.
func (w *window) from(ctx context.Context, start uint64) (uint64, error) {
	consumer, forget, err := open(ctx, w.conn, w.of.stream, jetstream.ConsumerConfig{
		FilterSubject: w.of.filter, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: start,
	})
	if err != nil {
		return 0, err
	}
	defer forget()
	return consumer.CachedInfo().NumPending, nil
}
