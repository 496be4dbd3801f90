package bus

import (
	"context"
	"errors"
	"fmt"

	"flotilla/bus/disk"

	"github.com/nats-io/nats.go/jetstream"
)

// AccountRoom is the room that the account of the connection has on its servers, as far as it is limited.
func (c *Conn) AccountRoom(ctx context.Context, reserve int64) (disk.Room, error) {
	info, err := c.JS.AccountInfo(ctx)
	if err != nil {
		return disk.Room{}, fmt.Errorf("asking for the limits of the account: %w", err)
	}
	room := disk.Room{Where: "the account of the hub on " + c.url}
	if limit := info.Limits.MaxStore; limit > 0 {
		room.Free, room.Total = max(0, limit-int64(info.Store)), limit
		room.Reserve = disk.Reserve(reserve, limit)
	}
	return room, nil
}

// Codes of nats-server for what it has no room for, and what they are about.
var codesFull = map[jetstream.ErrorCode]string{
	10002: "the limits of the account are reached",
	10023: "a server's max_file_store or max_memory_store is reached",
	10028: "max_memory_store is reached",
	10047: "max_file_store is reached",
}

// Full says which limit of the servers kept a write from being stored, empty when none did. A stream that is
// full is one.
func Full(err error) string {
	refused := (*jetstream.APIError)(nil)
	switch {
	case !errors.As(err, &refused):
		return ""
	case codesFull[refused.ErrorCode] != "":
		return codesFull[refused.ErrorCode]
	case refused.ErrorCode == codeStoreFailed:
		return "a stream is full"
	}
	return ""
}

// codeStoreFailed is of a message that a stream did not store, as where it is full.
const codeStoreFailed jetstream.ErrorCode = 10077

// codeIncomplete is of a batch of which the server could not keep a part, as where it can make no file for it.
const codeIncomplete jetstream.ErrorCode = 10176

// IsIncomplete says that the servers stored nothing of a batch, because they lack a part of it.
func IsIncomplete(err error) bool {
	refused, is := errors.AsType[*jetstream.APIError](err)
	return is && refused.ErrorCode == codeIncomplete
}

// IsUnanswered says that the servers did not answer a write: nobody knows whether it was stored.
func IsUnanswered(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, jetstream.ErrNoStreamResponse)
}
