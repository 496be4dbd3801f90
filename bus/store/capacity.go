package store

import (
	"context"
	"fmt"

	"flotilla/bus"
	"flotilla/bus/streams"
	"flotilla/core/api"
	"flotilla/subjects"
)

// Differences compares anew what was not as this build would make it when the hub began to lead.
func (s *Store) Differences(ctx context.Context) ([]streams.Difference, error) {
	if len(s.Layout.Differences) == 0 {
		return nil, nil
	}
	o := s.Layout.Options
	o.Unmanaged = true
	report, err := streams.EnsureLayout(ctx, s.Conn, o)
	return report.Differences, err
}

// Capacity is how many members the streams that agents write have room for, when each uses all of its share.
type Capacity struct {
	// Members is 0 where nothing limits them.
	Members int
	// Stream is the full name of the one that holds the fewest, Setting that of its size.
	Stream, Setting string
	// Share and Size are those of a member and of the stream, in bytes.
	Share, Size int64
}

// String says how many members fit, and what to raise for more.
func (c Capacity) String() string {
	return fmt.Sprintf("stream %s of %s holds the shares of %d members, %s each: raise %s of the hub and `nats stream edit %s --max-bytes`, or lower memberShare",
		c.Stream, api.Size(c.Size), c.Members, api.Size(c.Share), c.Setting, c.Stream)
}

// Capacity is by the streams as they were when this hub began to lead.
func (s *Store) Capacity() Capacity {
	share := s.Share()
	f := s.Conn.Fleet
	var least Capacity
	for _, c := range []Capacity{
		{Stream: f.BucketStream(subjects.Result), Setting: "streams.results", Share: share.Results + subjects.ResultSlots*bus.MessageOverhead, Size: s.Layout.Sizes[subjects.Result]},
		{Stream: f.Stream(subjects.Events), Setting: "streams.events", Share: share.Events + bus.MaxInventory, Size: s.Layout.Sizes[subjects.Events]},
	} {
		if c.Size <= 0 {
			continue
		}
		if c.Members = int(c.Size / c.Share); least.Size == 0 || c.Members < least.Members {
			least = c
		}
	}
	return least
}
