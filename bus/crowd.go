package bus

import (
	"context"
	"errors"
	"time"

	"flotilla/bus/loop"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// crowdedWait is how soon what was refused for that is sent again, at the latest.
	crowdedWait = 25 * time.Millisecond
	// tooManyRequests is the server's code for a message beyond what waits to be stored.
	tooManyRequests = 10167
)

// PublishAmong stores a message in a stream that others fill too. While more waits there to be stored than the
// server keeps, it comes again soon, until ctx ends: room is made as fast as messages are stored, and who waits
// longer than others gets none of it.
func (c *Conn) PublishAmong(ctx context.Context, m *nats.Msg) (*jetstream.PubAck, error) {
	for {
		ack, err := c.JS.PublishMsg(ctx, m)
		if !crowded(err) || ctx.Err() != nil {
			return ack, err
		}
		loop.Pause(ctx, loop.Spread(crowdedWait))
	}
}

func crowded(err error) bool {
	refused := (*jetstream.APIError)(nil)
	return errors.As(err, &refused) && refused.ErrorCode == tooManyRequests
}
