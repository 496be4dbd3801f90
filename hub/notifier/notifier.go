package notifier

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"flotilla/bus/store"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/subjects"
)

// by names the room in its own events.
const by = "notifier"

// Pauses between two tries of one event.
const (
	firstPause = time.Second
	lastPause  = 5 * time.Minute
)

// leastTries is how often an event is tried however old it is.
const leastTries = 3

const (
	// noteEvery is how many events that nobody asked for may go by before the position is written.
	noteEvery = 500
	// noteTimeout bounds the writing of a position once the hub ends.
	noteTimeout = 5 * time.Second
)

// Options of a Notifier.
type Options struct {
	Channels []Channel
	// FirstPause is how long after a failure an event is tried again, 1 s when 0; pauses double.
	FirstPause time.Duration
	Log        zerolog.Logger
}

// Notifier follows the audit stream during one term of leadership.
type Notifier struct {
	store     *store.Store
	options   Options
	positions *store.Records[api.NotificationPosition]
}

// New returns a notifier on an open store.
func New(leader *store.Store, o Options) *Notifier {
	if o.FirstPause == 0 {
		o.FirstPause = firstPause
	}
	return &Notifier{store: leader, options: o, positions: store.Writes[api.NotificationPosition](leader.State.As(subjects.Notifier), subjects.Notifications)}
}

// Run sends until ctx ends. It errs when a position cannot be written.
func (n *Notifier) Run(ctx context.Context) error {
	if err := n.store.State.WaitSynced(ctx); err != nil {
		return fmt.Errorf("starting to send notifications: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(n.options.Channels))
	var running sync.WaitGroup
	for i := range n.options.Channels {
		running.Go(func() {
			if errs[i] = n.serve(ctx, &n.options.Channels[i]); errs[i] != nil {
				cancel()
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// serve follows the stream for one channel from where it was left.
func (n *Notifier) serve(ctx context.Context, c *Channel) error {
	defer c.sender.close()
	d := &delivery{notifier: n, channel: c, log: n.options.Log.With().Str("notification", c.name).Logger()}
	from, err := d.begin(ctx)
	if ctx.Err() != nil {
		return nil
	}
	if err == nil {
		err = streams.FollowAudit(ctx, n.store.Conn, from, d.take)
	}
	if err == nil {
		err = d.end(ctx)
	}
	if err != nil {
		return fmt.Errorf("notification %s: %w", c.name, err)
	}
	return nil
}
