package bus

import (
	"context"

	"flotilla/core/api"
)

// Commands publishes the wanted state of members; the dispatcher alone calls it.
type Commands struct{}

// CommandHead is what is known of a stored command without its body.
type CommandHead struct {
	Member, Kind string
	Sequence     uint64
	Digest       string // of the body without its order, as the publisher defined it
	Order        api.Order
}

// List reads the heads of all stored commands, sorted by member and kind.
func (c *Commands) List(ctx context.Context) ([]CommandHead, error) { return nil, errUnbuilt }

// Publish stores a command whose subject must still have last as its newest sequence (0: none), and
// returns the new sequence. ErrConflict when it has not: List again. The server then announces it on
// the member's hint subject.
func (c *Commands) Publish(ctx context.Context, h CommandHead, command any, last uint64) (uint64, error) {
	return 0, errUnbuilt
}

// Get reads one stored command.
func (c *Commands) Get(ctx context.Context, member, kind string) (body []byte, h CommandHead, err error) {
	return nil, h, errUnbuilt
}
