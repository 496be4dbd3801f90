package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"flotilla/bus"
	"flotilla/core/api"
)

// busHub is a hub reached over NATS.
type busHub struct {
	conn    *bus.Conn
	timeout time.Duration
}

func dialHub(ctx context.Context, c Connection) (Hub, error) {
	conn, err := bus.ConnectClient(ctx, bus.Options{
		Fleet:   c.Fleet,
		URL:     c.URL,
		Creds:   c.Creds,
		Context: c.Context,
		Version: api.Version,
		Log:     zerolog.Nop(),
	})
	if err != nil {
		return nil, unreachable(err)
	}
	return &busHub{conn: conn, timeout: c.Timeout}, nil
}

// Call sends one request and decodes the answer.
func (h *busHub) Call(ctx context.Context, verb string, request, response any) error {
	err := bus.Request(ctx, h.conn, verb, request, response, bus.RequestOptions{Total: h.timeout})
	if errors.Is(err, bus.ErrUnreachable) {
		return unreachable(err)
	}
	return err
}

// Record reads one stored value, unpacked.
func (h *busHub) Record(ctx context.Context, bucket, key string) ([]byte, error) {
	kv, err := h.conn.JS.KeyValue(ctx, h.conn.Fleet.Bucket(bucket))
	if err != nil {
		return nil, fmt.Errorf("opening bucket %s: %w", bucket, err)
	}
	entry, err := kv.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s of bucket %s: %w", key, bucket, err)
	}
	return bus.Unpack(entry.Value())
}

// Close ends the connection.
func (h *busHub) Close() { h.conn.Close() }

func unreachable(err error) *Failure {
	return &Failure{
		Code:    ExitUnreachable,
		Message: err.Error(),
		Next:    "go run ./hub --dev, or name a running hub with --url and --creds (NATS_URL, NATS_CREDS)",
	}
}
