package bus

import (
	"context"
	"errors"
	"time"

	"flotilla/bus/loop"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// crowdedWait is how soon what was refused for that is sent again, at the latest.
const crowdedWait = 25 * time.Millisecond

// errCrowded is of a message beyond what waits to be stored.
var errCrowded = &jetstream.APIError{ErrorCode: 10167}

// PublishAmong stores a message in a stream that others fill too. While more waits there to be stored than the
// server keeps, it comes again soon, until ctx ends: room is made as fast as messages are stored, and who waits
// longer than others gets none of it.
func (c *Conn) PublishAmong(ctx context.Context, m *nats.Msg) (*jetstream.PubAck, error) {
	for {
		ack, err := c.JS.PublishMsg(ctx, m)
		if !errors.Is(err, errCrowded) || ctx.Err() != nil {
			return ack, err
		}
		loop.Pause(ctx, loop.Spread(crowdedWait))
	}
}
