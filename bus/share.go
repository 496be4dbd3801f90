package bus

import (
	"cmp"
	"fmt"

	"flotilla/core/api"

	"flotilla/subjects"
)

// Share is what one member can store in the streams that agents write. The zero value is the default.
type Share struct {
	// Results is for its results, in bytes, over subjects.ResultSlots batches; 1 MiB when 0.
	Results int64
	// Events is for the states of its nodes and its inventories, in bytes; 4 MiB when 0.
	Events int64
}

// Defaults of a share, and of the streams that hold the shares of all.
const (
	defaultResultShare = 1 << 20
	defaultEventShare  = 4 << 20
)

// WithDefaults is the share with what it does not say filled in.
func (s Share) WithDefaults() Share {
	return Share{Results: cmp.Or(s.Results, defaultResultShare), Events: cmp.Or(s.Events, defaultEventShare)}
}

// batch is the largest batch of results, as stored.
func (s Share) batch() int64 { return s.WithDefaults().Results / subjects.ResultSlots }

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
	share := s.Share.WithDefaults()
	f := s.Conn.Fleet
	var least Capacity
	for _, c := range []Capacity{
		{Stream: f.BucketStream(subjects.Result), Setting: "streams.results", Share: share.Results + subjects.ResultSlots*messageOverhead, Size: s.Layout.Sizes[subjects.Result]},
		{Stream: f.Stream(subjects.Events), Setting: "streams.events", Share: share.Events + MaxInventory, Size: s.Layout.Sizes[subjects.Events]},
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
