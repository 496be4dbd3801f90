package bus

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"flotilla/bus/loop"
	"flotilla/core/api"
	"flotilla/core/seal"

	"github.com/nats-io/nats.go"
)

const (
	// forwardPatience is for how long a hub looks for one that leads.
	forwardPatience = 3 * time.Second
	// forwardTotal bounds the wait for the answer of a hub that has taken a request.
	forwardTotal = 45 * time.Second
	// forwardAge is how old a forwarded request may be, and how far apart the clocks of hubs.
	forwardAge = time.Minute
)

// headerTaken says in an empty answer that a hub has taken a forwarded request and works on it.
const headerTaken = "Flotilla-Taken"

// forwarded is a request as one hub sends it to the one that leads. It is sealed for forwardName of its id.
type forwarded struct {
	At time.Time `json:"at"`
	// Leader is the term of service that it is for, as an earlier answer names it: what was recorded is good for no
	// other.
	Leader string          `json:"leader"`
	By     api.Caller      `json:"by"`
	Verb   string          `json:"verb"`
	Body   json.RawMessage `json:"body,omitempty"`
}

// forwardedAnswer is what a hub that leads answers. It is sealed for answerName of the id of the request.
type forwardedAnswer struct {
	Leader  string          `json:"leader"`
	Failure *api.Failure    `json:"failure,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"`
}

func forwardName(id string) string { return "request " + id }
func answerName(id string) string  { return "answer " + id }

// sealForward renders, compresses and seals what one hub sends another.
func sealForward(keys *seal.Keyring, name string, within Bounds, value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	packed, err := within.Pack(text)
	if err != nil {
		return nil, err
	}
	return seal.Seal(keys.Forward(name), packed)
}

func openForward(keys *seal.Keyring, name string, within Bounds, sealed []byte, into any) error {
	packed, err := seal.Open(keys.Forward(name), sealed, within.bytes)
	if err != nil {
		return err
	}
	return Decode(packed, within, into)
}

// Forwarder has the hub that leads answer what a hub was asked that does not.
type Forwarder struct {
	conn *Conn
	keys *seal.Keyring

	mu     sync.Mutex
	leader string // the term of service that answered last
}

// NewForwarder returns a forwarder over the connection of a hub, with the secrets that all hubs of the fleet have.
func NewForwarder(c *Conn, keys *seal.Keyring) *Forwarder { return &Forwarder{conn: c, keys: keys} }

// forwardTries is how often a verb that changes nothing is asked of hubs that take it and are gone.
const forwardTries = 2

// Ask has a verb of people, or one of hubs, answered by the hub that leads, on behalf of somebody whom this hub vouches
// for. The answer is JSON. Errors are an *api.Failure, or of ctx: CodeUnavailable when no hub has taken the request within
// three seconds, or one that took it is gone; then what changes something may have been done. Once ctx has ended nothing is
// begun: what strangers ask and give up by the thousand would have a subscription each.
func (f *Forwarder) Ask(ctx context.Context, by api.Caller, verb string, body []byte) (value []byte, err error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	turns, end := f.conn.turns()
	defer end()
	for range forwardTries {
		value, err = f.patiently(ctx, turns, &forwarded{By: by, Verb: verb, Body: body})
		if !errors.Is(err, errGone) || !repeatable(verb) {
			break
		}
	}
	_, refused := errors.AsType[*api.Failure](err)
	switch {
	case err == nil || refused:
		return value, err
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, f.unavailable(verb, err)
}

// patiently sends a request until a hub has taken it, or for as long as is looked for one.
func (f *Forwarder) patiently(ctx context.Context, turns <-chan struct{}, q *forwarded) ([]byte, error) {
	patience, over := context.WithTimeout(ctx, forwardPatience)
	defer over()
	retry := loop.Backoff{First: requestWait, Most: forwardPatience / 4}
	for {
		value, err := f.try(ctx, patience, turns, q)
		failure, refused := errors.AsType[*api.Failure](err)
		another := refused && failure.Code == api.CodeOtherKey // which names the one that leads
		again := another || refused && failure.Code == api.CodeUnavailable || !refused && !errors.Is(err, errGone)
		if err == nil || !again || patience.Err() != nil {
			return value, err
		}
		if !another {
			pauseUnless(patience, loop.Spread(retry.Next()), turns)
		}
	}
}

// errGone says that a hub took a request, and that its answer will not come.
var errGone = errors.New("the hub that leads took the request and did not answer")

// errNotTaken says that no hub took a request.
var errNotTaken = errors.New("no hub has taken the request")

func lost(taken bool) error {
	if taken {
		return errGone
	}
	return errNotTaken
}

func (f *Forwarder) unavailable(verb string, err error) *api.Failure {
	failure := &api.Failure{
		Code: api.CodeUnavailable, Next: "flotilla status",
		Message: fmt.Sprintf("no hub that leads fleet %s answers: %s; ask again", f.conn.Fleet.Name, err),
	}
	if !repeatable(verb) && !errors.Is(err, nats.ErrNoResponders) {
		failure.Message += ", it may have been done"
	}
	return failure
}

// try sends a request once. It is to be taken before the end of patience.
func (f *Forwarder) try(ctx, patience context.Context, turns <-chan struct{}, q *forwarded) (json.RawMessage, error) {
	id := rand.Text()
	m := nats.NewMsg(f.conn.Fleet.Forward())
	m.Header.Set(HeaderRequest, id)
	q.At, q.Leader = f.conn.Now(), f.known()
	var err error
	if m.Data, err = sealForward(f.keys, forwardName(id), requestBounds, q); err != nil {
		return nil, &api.Failure{Code: api.CodeTooLarge, Message: "the request cannot be sent to the hub that leads: " + err.Error()}
	}
	if limit := int(f.conn.NC.MaxPayload()) - headerRoom; len(m.Data) > limit {
		return nil, &api.Failure{
			Code: api.CodeTooLarge, Message: fmt.Sprintf("the request has %d bytes compressed, the server carries %d", len(m.Data), limit),
			Next: "send fewer documents at once",
		}
	}
	sealed, err := f.exchange(ctx, patience, turns, m)
	if err != nil {
		return nil, err
	}
	var answer forwardedAnswer
	if err := openForward(f.keys, answerName(id), answerBounds, sealed, &answer); err != nil {
		return nil, &api.Failure{Code: api.CodeInternal, Message: "reading the answer of the hub that leads: " + err.Error()}
	}
	f.know(answer.Leader)
	if answer.Failure != nil {
		return nil, answer.Failure
	}
	return answer.Value, nil
}

// exchange sends a message and waits for its answer, once it was taken for as long as is needed.
func (f *Forwarder) exchange(ctx, patience context.Context, turns <-chan struct{}, m *nats.Msg) ([]byte, error) {
	replies := make(chan *nats.Msg, 4)
	m.Reply = f.conn.NC.NewInbox()
	inbox, err := f.conn.NC.ChanSubscribe(m.Reply, replies)
	if err != nil {
		return nil, err
	}
	defer func() { _ = inbox.Unsubscribe() }()
	if err := f.conn.NC.PublishMsg(m); err != nil {
		return nil, err
	}
	total, over := context.WithTimeout(ctx, forwardTotal)
	defer over()
	for taken, wait := false, patience; ; {
		select {
		case answer := <-replies:
			switch {
			case answer.Header.Get(HeaderStatus) == StatusNoResponders:
				return nil, nats.ErrNoResponders
			case answer.Header.Get(headerTaken) == "":
				return answer.Data, nil
			}
			taken, wait = true, total
		case <-turns:
			return nil, lost(taken)
		case <-wait.Done():
			return nil, lost(taken)
		}
	}
}

func (f *Forwarder) known() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.leader
}

func (f *Forwarder) know(leader string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leader = leader
}
