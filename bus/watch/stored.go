package watch

import (
	"fmt"

	"flotilla/bus"
)

// Stored is the JSON of a message as it is stored, compressed or not. It is unpacked, and held against its bounds, by who
// reads it.
type Stored struct {
	value    []byte
	within   bus.Bounds
	sequence uint64
}

// NewStored returns what is stored as a message of a sequence; a value of nil is a marker of deletion.
func NewStored(value []byte, within bus.Bounds, sequence uint64) Stored {
	return Stored{value, within, sequence}
}

// JSON unpacks what is stored, or says why it is beyond its bounds or cannot be unpacked.
func (s Stored) JSON() ([]byte, error) {
	body, err := s.within.Unpack(s.value)
	if s.value == nil {
		err = errMarker
	}
	if err != nil {
		return nil, fmt.Errorf("message %d, %d bytes: %w", s.sequence, len(s.value), err)
	}
	return body, nil
}

// Start is the beginning of the JSON, at most so many bytes of it and unchecked.
func (s Stored) Start(most int) []byte { return bus.Start(s.value, most) }
