package store

import (
	"errors"

	"flotilla/bus"
	"flotilla/bus/acks"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// outcome is what is known of a message that was published.
type outcome int

const (
	stored     outcome = iota
	mismatched         // an expected sequence was not the last one
	busy               // another message with an expectation is in process: try again
	refused            // not stored, for another reason
	unknown            // nobody can say; it may yet be stored
)

// outcomeOf reads the error of a publish.
func outcomeOf(err error) outcome {
	if err == nil {
		return stored
	}
	if api, is := errors.AsType[*jetstream.APIError](err); is {
		switch api.ErrorCode {
		case jetstream.JSErrCodeStreamWrongLastSequence:
			return mismatched
		case jetstream.JSErrCodeStreamWrongLastSequenceConstant:
			return busy
		}
		return refused
	}
	for _, known := range []error{
		jetstream.ErrNoStreamResponse, nats.ErrReconnectBufExceeded, nats.ErrMaxPayload, nats.ErrBadSubject, bus.ErrTooLarge, acks.ErrUnsent, errBroken,
	} {
		if errors.Is(err, known) {
			return refused
		}
	}
	return unknown
}
