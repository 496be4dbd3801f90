package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"flotilla/bus/loop"
	"flotilla/subjects"

	"github.com/nats-io/nats.go"
)

// DirectMessage is a stored message read by direct get.
type DirectMessage struct {
	Value    []byte
	Header   nats.Header
	Sequence uint64
}

// Headers of what a server answers.
const (
	HeaderStatus      = "Status"
	HeaderDescription = "Description"
	HeaderSequence    = "Nats-Sequence"
	HeaderStream      = "Nats-Stream"
	HeaderSubject     = "Nats-Subject"
	statusNotFound    = "404"
)

// Direct reads the newest message of one exact subject, which needs no consumer and no stream info.
// ErrNotFound when there is none.
func (c *Conn) Direct(ctx context.Context, stream, subject string) (DirectMessage, error) {
	m, err := c.read(ctx, subjects.DirectGet(stream, subject))
	if err != nil {
		return DirectMessage{}, err
	}
	if status := m.Header.Get(HeaderStatus); status != "" {
		err := fmt.Errorf("the server says %s %s", status, m.Header.Get(HeaderDescription))
		if status == statusNotFound {
			err = ErrNotFound
		}
		return DirectMessage{}, err
	}
	sequence, err := strconv.ParseUint(m.Header.Get(HeaderSequence), 10, 64)
	if err != nil {
		return DirectMessage{}, errors.New("the server's answer has no sequence")
	}
	if IsMarker(m.Header) {
		return DirectMessage{}, ErrNotFound
	}
	return DirectMessage{Value: m.Data, Header: m.Header, Sequence: sequence}, nil
}

// read asks until somebody is there to answer, for AskTimeout at most: hubs, who answer what agents read, come and go.
func (c *Conn) read(ctx context.Context, subject string) (m *nats.Msg, err error) {
	ctx, cancel := context.WithTimeout(ctx, AskTimeout)
	defer cancel()
	for retry := (loop.Backoff{Most: time.Second}); ; {
		m, err = c.NC.RequestWithContext(ctx, subject, nil)
		if !errors.Is(err, nats.ErrNoResponders) || !retry.Wait(ctx) {
			return m, err
		}
	}
}

// FromLeader is direct by the leader of the stream, which no replica is ahead of. Agents may not ask it.
func (c *Conn) FromLeader(ctx context.Context, stream, subject string) (DirectMessage, error) {
	m, err := c.LastMessage(ctx, stream, subject)
	switch {
	case err != nil:
		return DirectMessage{}, err
	case m == nil || IsMarker(m.Header):
		return DirectMessage{}, ErrNotFound
	}
	return DirectMessage{Value: m.Data, Header: m.Header, Sequence: m.Sequence}, nil
}

// Found is direct, and asks the leader for what a replica does not have, which may be behind.
func (c *Conn) Found(ctx context.Context, stream, subject string) (DirectMessage, error) {
	m, err := c.Direct(ctx, stream, subject)
	if errors.Is(err, ErrNotFound) {
		return c.FromLeader(ctx, stream, subject)
	}
	return m, err
}

// StatusNoResponders is the header Status of an answer of servers that nobody else gave.
const StatusNoResponders = "503"

// placeDigits is the length of where a piece lies.
const placeDigits = 64

// reader reads the newest message of a subject of a stream.
type reader func(ctx context.Context, stream, subject string) (DirectMessage, error)

// ReadSealed reads what is stored at a place. ErrNotFound.
func ReadSealed(ctx context.Context, c *Conn, at string, read reader) ([]byte, error) {
	if len(at) != placeDigits || strings.Trim(at, "0123456789abcdef") != "" {
		return nil, fmt.Errorf("place %q of content: expected %d hexadecimal digits", at, placeDigits)
	}
	f := c.Fleet
	m, err := read(ctx, f.BucketStream(subjects.Content), f.BucketSubject(subjects.Content, at))
	if err != nil {
		return nil, err
	}
	return m.Value, nil
}
