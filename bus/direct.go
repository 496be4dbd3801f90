package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"flotilla/subjects"

	"github.com/nats-io/nats.go"
)

// directMessage is a stored message read by direct get.
type directMessage struct {
	value    []byte
	header   nats.Header
	sequence uint64
}

const (
	headerStatus      = "Status"
	headerDescription = "Description"
	headerSequence    = "Nats-Sequence"
	statusNotFound    = "404"
)

// direct reads the newest message of one exact subject, which needs no consumer and no stream info.
// ErrNotFound when there is none.
func (c *Conn) direct(ctx context.Context, stream, subject string) (directMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	m, err := c.NC.RequestWithContext(ctx, subjects.DirectGet(stream, subject), nil)
	if err != nil {
		return directMessage{}, err
	}
	if status := m.Header.Get(headerStatus); status != "" {
		err := fmt.Errorf("the server says %s %s", status, m.Header.Get(headerDescription))
		if status == statusNotFound {
			err = ErrNotFound
		}
		return directMessage{}, err
	}
	sequence, err := strconv.ParseUint(m.Header.Get(headerSequence), 10, 64)
	if err != nil {
		return directMessage{}, errors.New("the server's answer has no sequence")
	}
	if isMarker(m.Header) {
		return directMessage{}, ErrNotFound
	}
	return directMessage{value: m.Data, header: m.Header, sequence: sequence}, nil
}

// fromLeader is direct by the leader of the stream, which no replica is ahead of. Agents may not ask it.
func (c *Conn) fromLeader(ctx context.Context, stream, subject string) (directMessage, error) {
	m, err := c.last(ctx, stream, subject)
	switch {
	case err != nil:
		return directMessage{}, err
	case m == nil || isMarker(m.Header):
		return directMessage{}, ErrNotFound
	}
	return directMessage{value: m.Data, header: m.Header, sequence: m.Sequence}, nil
}

// found is direct, and asks the leader for what a replica does not have, which may be behind.
func (c *Conn) found(ctx context.Context, stream, subject string) (directMessage, error) {
	m, err := c.direct(ctx, stream, subject)
	if errors.Is(err, ErrNotFound) {
		return c.fromLeader(ctx, stream, subject)
	}
	return m, err
}

// StatusNoResponders is the header Status of an answer of servers that nobody else gave.
const StatusNoResponders = "503"

// placeDigits is the length of where a piece lies.
const placeDigits = 64

// reader reads the newest message of a subject of a stream.
type reader func(ctx context.Context, stream, subject string) (directMessage, error)

// getSealed reads what is stored at a place. ErrNotFound.
func getSealed(ctx context.Context, c *Conn, at string, read reader) ([]byte, error) {
	if len(at) != placeDigits || strings.Trim(at, "0123456789abcdef") != "" {
		return nil, fmt.Errorf("place %q of content: expected %d hexadecimal digits", at, placeDigits)
	}
	f := c.Fleet
	m, err := read(ctx, f.BucketStream(subjects.Content), f.BucketSubject(subjects.Content, at))
	if err != nil {
		return nil, err
	}
	return m.value, nil
}
