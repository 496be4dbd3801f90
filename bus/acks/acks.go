// Package acks publishes messages to streams one behind the other, without waiting for each.
package acks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"flotilla/bus"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Acks publishes messages without waiting, so that they reach the server in the order in which they were
// sent, and hands each one's acknowledgement to who waits for it.
type Acks struct {
	conn   *bus.Conn
	prefix string

	mu      sync.Mutex
	waiting map[string]chan *nats.Msg
	next    uint64
}

// New listens for acknowledgements until the connection is closed.
func New(c *bus.Conn) (*Acks, error) {
	a := &Acks{conn: c, prefix: c.NC.NewInbox() + ".", waiting: map[string]chan *nats.Msg{}}
	_, err := c.NC.Subscribe(a.prefix+"*", a.arrived)
	return a, err
}

func (a *Acks) arrived(m *nats.Msg) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if to := a.waiting[strings.TrimPrefix(m.Subject, a.prefix)]; to != nil {
		to <- m
	}
}

// ErrUnsent says that a message did not leave this process.
var ErrUnsent = errors.New("not sent")

// Awaited is the acknowledgement of a message that is under way.
type Awaited struct {
	acks    *Acks
	token   string
	answer  chan *nats.Msg
	message *nats.Msg
	began   time.Time
}

// Send publishes m. An error says that it was not sent.
func (a *Acks) Send(m *nats.Msg) (*Awaited, error) {
	a.mu.Lock()
	a.next++
	out := &Awaited{acks: a, token: strconv.FormatUint(a.next, 36), answer: make(chan *nats.Msg, 1), message: m, began: time.Now()}
	a.waiting[out.token] = out.answer
	a.mu.Unlock()
	m.Reply = a.prefix + out.token
	if err := a.conn.NC.PublishMsg(m); err != nil {
		out.forget()
		return nil, fmt.Errorf("%w: %w", ErrUnsent, a.conn.TooLarge(m, err))
	}
	return out, nil
}

func (w *Awaited) forget() {
	w.acks.mu.Lock()
	defer w.acks.mu.Unlock()
	delete(w.acks.waiting, w.token)
}

// Wait returns the acknowledgement, or ctx's error. Nobody else may wait for it.
func (w *Awaited) Wait(ctx context.Context) (ack *jetstream.PubAck, err error) {
	defer w.forget()
	select {
	case m := <-w.answer:
		ack, err = readAck(m)
	case <-ctx.Done():
		err = ctx.Err()
	}
	w.acks.conn.NoteWrite(w.message.Subject, w.began, err)
	return ack, err
}

// readAck reads what the server said to a message.
func readAck(m *nats.Msg) (*jetstream.PubAck, error) {
	if len(m.Data) == 0 && m.Header.Get(bus.HeaderStatus) == bus.StatusNoResponders {
		return nil, jetstream.ErrNoStreamResponse
	}
	var answer struct {
		Error *jetstream.APIError `json:"error"`
		*jetstream.PubAck
	}
	if err := json.Unmarshal(m.Data, &answer); err != nil {
		return nil, jetstream.ErrInvalidJSAck
	}
	switch {
	case answer.Error != nil:
		return nil, answer.Error
	case answer.PubAck == nil || answer.Stream == "":
		return nil, jetstream.ErrInvalidJSAck
	}
	return answer.PubAck, nil
}
