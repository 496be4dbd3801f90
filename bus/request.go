package bus

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"flotilla/bus/loop"
	"flotilla/core/api"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

const (
	requestTotal = 45 * time.Second
	requestTry   = 10 * time.Second
	requestWait  = 50 * time.Millisecond
	requestPause = 2 * time.Second // longest between tries
)

// HeaderRequest is the id of a request, one for all its tries. Answers have none, so that an answer that was
// sent to the subject of a request is not taken for one.
const HeaderRequest = "Flotilla-Request"

// headerLeads is in what a hub says when it begins to lead: people can have answers to their requests sent to the same subject, which have none.
const headerLeads = "Flotilla-Leads"

// lead says that the hub of the connection leads now.
func (c *Conn) lead() error {
	m := nats.NewMsg(c.Fleet.Leads())
	m.Header.Set(headerLeads, "true")
	return c.NC.PublishMsg(m)
}

// RequestOptions tune Request. The zero value is for the command line client.
type RequestOptions struct {
	// Total bounds all tries (45 s), Try one of them (10 s).
	Total, Try time.Duration
}

// Request sends request as JSON, sealed to the hub, to a verb and decodes the answer into response (nil: ignored). It
// sends the same payload again on time-outs, no responders and CodeUnavailable, and at once when the
// connection was lost or another hub leads, and on CodeNoRoom and CodeDamaged once a try was not answered, so a
// request that changes something carries an id. A refusal is an *api.Failure (errors.As); a hub that never answered,
// or refused no more than later tries, is ErrUnreachable.
func Request(ctx context.Context, c *Conn, verb string, question, response any, o RequestOptions) error {
	if err := c.may(verb); err != nil {
		return err
	}
	return request(ctx, c, verb, question, response, o, c.askSealed)
}

// request packs a question, has it asked and decodes the answer.
func request(ctx context.Context, c *Conn, verb string, question, response any, o RequestOptions,
	ask func(context.Context, *nats.Msg, RequestOptions) ([]byte, error),
) error {
	text, err := Encode(question)
	if err != nil {
		return fmt.Errorf("request %s: %w", verb, err)
	}
	m := nats.NewMsg(c.API(verb))
	m.Header.Set(headerAccept, encodingGzip)
	m.Header.Set(HeaderRequest, rand.Text())
	if m.Data, err = compress(m, text); err != nil {
		return fmt.Errorf("request %s: %w", verb, err)
	}
	if limit := int(c.NC.MaxPayload()) - headerRoom; len(m.Data) > limit {
		return &api.Failure{
			Code: api.CodeTooLarge, Message: fmt.Sprintf("the request has %d bytes compressed, the server carries %d", len(m.Data), limit),
			Next: "send fewer documents at once",
		}
	}
	body, err := ask(ctx, m, o)
	if err != nil || response == nil {
		return err
	}
	if err := json.Unmarshal(body, response); err != nil {
		return fmt.Errorf("reading the answer to %s: %w", verb, err)
	}
	return nil
}

// ask sends m until it is answered for good; open opens answers in place.
func (c *Conn) ask(ctx context.Context, m *nats.Msg, o RequestOptions, open func(*nats.Msg) error) ([]byte, error) {
	total := cmp.Or(o.Total, requestTotal)
	bounded, cancel := context.WithTimeout(ctx, total)
	defer cancel()
	turns, end := c.turns()
	defer end()
	var last error
	unanswered := false
	retry := loop.Backoff{First: requestWait, Most: requestPause}
	for {
		body, err := c.askOnce(bounded, m, cmp.Or(o.Try, requestTry), turns, open)
		if err == nil || !again(err) && (!unanswered || !passing(err)) {
			return body, err
		}
		unanswered = unanswered || !isAnswer(err) && !errors.Is(err, nats.ErrNoResponders)
		if last == nil || bounded.Err() == nil {
			last = err
		}
		pauseUnless(bounded, loop.Spread(retry.Next()), turns)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if bounded.Err() != nil && isAnswer(last) && unanswered {
			return nil, fmt.Errorf("%w on %s within %s; a try that was not answered may have been carried out, later ones were refused: %s",
				ErrUnreachable, m.Subject, total, last.Error()) // which is no refusal of the request
		}
		if bounded.Err() != nil {
			return nil, fmt.Errorf("%w: %s on %s within %s: %w; see whether a hub leads fleet %s with `nats micro ls`",
				ErrUnreachable, m.Subject, c.url, total, last, c.Fleet.Name)
		}
	}
}

// again says that the same request may be answered later.
func again(err error) bool {
	if failure, is := errors.AsType[*api.Failure](err); is {
		return failure.Code == api.CodeUnavailable
	}
	return errors.Is(err, errTurned) || IsDisconnected(err)
}

// isAnswer says that a hub answered.
func isAnswer(err error) bool {
	_, is := errors.AsType[*api.Failure](err)
	return is
}

// passing says that a try was refused for what has nothing to do with the request: an earlier one, of which nobody
// knows, may have been carried out before.
func passing(err error) bool {
	failure, is := errors.AsType[*api.Failure](err)
	return is && (failure.Code == api.CodeNoRoom || failure.Code == api.CodeDamaged)
}

// errTurned says that whoever was asked will not answer any more.
var errTurned = errors.New("the connection was lost, or another hub leads")

// turns receives when it is time to ask again, until end is called: the connection was lost or is
// back, or a hub begins to lead.
func (c *Conn) turns() (turns <-chan struct{}, end func()) {
	turned := make(chan struct{}, 1)
	turn := func() {
		select {
		case turned <- struct{}{}:
		default:
		}
	}
	unlisten := c.Listen(func(d Disturbance, _ error) {
		if d == Lost || d == Restored {
			turn()
		}
	})
	leads, err := c.NC.Subscribe(c.Fleet.Leads(), func(m *nats.Msg) {
		if m.Header.Get(headerLeads) != "" {
			turn()
		}
	})
	return turned, func() {
		unlisten()
		if err == nil {
			_ = leads.Unsubscribe()
		}
	}
}

// pauseUnless waits for d, for a turn or for the end of ctx.
func pauseUnless(ctx context.Context, d time.Duration, turns <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-turns:
	}
}

func (c *Conn) askOnce(ctx context.Context, m *nats.Msg, limit time.Duration, turns <-chan struct{}, open func(*nats.Msg) error) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ctx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	defer c.Listen(func(d Disturbance, err error) {
		if d == Denied {
			abort(err)
		}
	})()
	go func() {
		select {
		case <-turns:
			abort(errTurned)
		case <-ctx.Done():
		}
	}()
	answer, err := c.NC.RequestMsgWithContext(ctx, m)
	if cause := context.Cause(ctx); err != nil && (errors.Is(cause, ErrDenied) || errors.Is(cause, errTurned)) {
		return nil, cause
	}
	if err != nil {
		return nil, err
	}
	if err := open(answer); err != nil {
		return nil, err
	}
	body := answer.Data
	if answer.Header.Get(headerEncoding) == encodingGzip {
		if body, err = answerBounds.gunzip(body); err != nil {
			return nil, fmt.Errorf("reading the answer: %w", err)
		}
	}
	code := answer.Header.Get(micro.ErrorCodeHeader)
	if code == "" {
		return body, nil
	}
	failure := &api.Failure{}
	if json.Unmarshal(body, failure) != nil || failure.Code == "" {
		failure = &api.Failure{Code: code, Message: answer.Header.Get(micro.ErrorHeader)}
	}
	return nil, failure
}

// IsDisconnected says that an error only means that the server cannot be reached now, or that an agent may not work yet.
func IsDisconnected(err error) bool {
	return errors.Is(err, nats.ErrReconnectBufExceeded) || errors.Is(err, nats.ErrDisconnected) ||
		errors.Is(err, ErrNotEnrolled) || errors.Is(err, ErrNotAdmitted) || errors.Is(err, nats.ErrNoResponders) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
}
