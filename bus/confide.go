package bus

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"flotilla/core/api"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/nats-io/nkeys"
)

// headerSealed is, of a request, the public curve key (X…) that it was sealed with and that the answer is to be
// sealed to; an answer that is sealed has the hub's.
const headerSealed = "Flotilla-Sealed"

// errUnsealed says that an answer could be read by others, so that it is not taken.
var errUnsealed = errors.New("the answer is not sealed by the hub that was asked")

// confidence is how a connection speaks with the hub so that nobody else who uses the servers reads along: with keys
// made for it alone, to the key that the hub named when it was asked first.
type confidence struct {
	mu   sync.Mutex
	pair nkeys.KeyPair
	own  string // the public part of pair
	hub  string // empty before it was asked
}

// with returns the keys of both sides; the hub's is asked for once.
func (f *confidence) with(ask func() (string, error)) (pair nkeys.KeyPair, own, hub string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pair == nil {
		if f.pair, err = nkeys.CreateCurveKeys(); err != nil {
			return nil, "", "", err
		}
		if f.own, err = f.pair.PublicKey(); err != nil {
			return nil, "", "", err
		}
	}
	if f.hub == "" {
		f.hub, err = ask()
	}
	return f.pair, f.own, f.hub, err
}

// forget has the hub's key asked for again, unless that was done meanwhile.
func (f *confidence) forget(hub string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hub == hub {
		f.hub = ""
	}
}

// askSealed sends a packed request sealed, and opens the answer. A hub with another key than the one before, whose
// secrets were lost, is asked for it once more.
func (c *Conn) askSealed(ctx context.Context, m *nats.Msg, o RequestOptions) ([]byte, error) {
	text := m.Data
	for again := false; ; again = true {
		pair, own, hub, err := c.confidence.with(func() (string, error) { return c.askKey(ctx, o) })
		if err != nil {
			return nil, err
		}
		if m.Data, err = pair.Seal(text, hub); err != nil {
			return nil, fmt.Errorf("sealing the request: %w", err)
		}
		m.Header.Set(headerSealed, own)
		body, err := c.ask(ctx, m, o, func(answer *nats.Msg) error { return openAnswer(answer, pair, hub) })
		if failure, refused := errors.AsType[*api.Failure](err); !refused || failure.Code != api.CodeOtherKey || again {
			return body, err
		}
		c.confidence.forget(hub)
	}
}

// askKey asks the hub for its public curve key.
func (c *Conn) askKey(ctx context.Context, o RequestOptions) (string, error) {
	var answer api.KeyResponse
	if err := request(ctx, c, api.VerbKey, nil, &answer, o, c.askOpen); err != nil {
		return "", err
	}
	if !nkeys.IsValidPublicCurveKey(answer.Key) {
		return "", fmt.Errorf("the hub's key: found %.60q, expected a public curve key, which begins with X", answer.Key)
	}
	return answer.Key, nil
}

// askOpen sends a request that others may read, and its answer too.
func (c *Conn) askOpen(ctx context.Context, m *nats.Msg, o RequestOptions) ([]byte, error) {
	return c.ask(ctx, m, o, func(*nats.Msg) error { return nil })
}

// openAnswer opens an answer in place. Refusals of hubs that could not open the request are not sealed, and say
// nothing of it.
func openAnswer(answer *nats.Msg, pair nkeys.KeyPair, hub string) error {
	if answer.Header.Get(headerSealed) == "" {
		if answer.Header.Get(micro.ErrorCodeHeader) != "" {
			return nil
		}
		return errUnsealed
	}
	text, err := pair.Open(answer.Data, hub)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnsealed, err)
	}
	answer.Data = text
	return nil
}
