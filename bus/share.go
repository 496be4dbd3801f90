package bus

import (
	"cmp"

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

// Batch is the largest batch of results, as stored.
func (s Share) Batch() int64 { return s.WithDefaults().Results / subjects.ResultSlots }
