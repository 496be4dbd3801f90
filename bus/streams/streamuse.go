package streams

import (
	"context"
	"fmt"

	"flotilla/bus"
	"flotilla/subjects"

	"github.com/nats-io/nats.go/jetstream"
)

// Use is what a stream holds now.
type Use struct {
	// Short is the constant of subjects that names it, Name its full name.
	Short, Name string
	// Bytes and Messages are what it holds, MostBytes and MostMessages what it may; 0: without limit.
	Bytes, MostBytes       int64
	Messages, MostMessages int64
	// Rolls says that the oldest gives way where there is no room.
	Rolls bool
}

// Uses asks the servers what each stream of the fleet holds.
func Uses(ctx context.Context, c *bus.Conn) ([]Use, error) {
	var uses []Use
	for _, asset := range subjects.Assets() {
		use, err := streamUse(ctx, c, asset)
		if err != nil {
			return nil, err
		}
		uses = append(uses, use)
	}
	return uses, nil
}

func streamUse(ctx context.Context, c *bus.Conn, asset subjects.Asset) (Use, error) {
	ctx, cancel := context.WithTimeout(ctx, bus.AskTimeout)
	defer cancel()
	name := asset.StreamName(c.Fleet)
	stream, err := c.JS.Stream(ctx, name)
	if err != nil {
		return Use{}, fmt.Errorf("asking how full %s is: %w", name, err)
	}
	info := stream.CachedInfo()
	return Use{
		Short: asset.Short, Name: name,
		Bytes: int64(info.State.Bytes), MostBytes: max(0, info.Config.MaxBytes),
		Messages: int64(info.State.Msgs), MostMessages: max(0, info.Config.MaxMsgs),
		Rolls: info.Config.Discard == jetstream.DiscardOld,
	}, nil
}
