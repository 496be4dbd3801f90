package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go"
)

// Up is nil while the connection is up, and otherwise says why it is not, as far as the servers said.
func (c *Conn) Up() error {
	if c.NC.IsConnected() {
		return nil
	}
	return errors.Join(fmt.Errorf("no connection to %s: see whether its servers run", c.url), c.Refused())
}

// Refused says that the servers did not take the credentials when last they were shown; nil when they did.
func (c *Conn) Refused() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused
}

// ofCredentials says that servers did not take the credentials, or do not any more.
func ofCredentials(err error) bool {
	return errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) || errors.Is(err, nats.ErrAuthRevoked)
}

// admit takes in how an attempt to connect ended.
func (c *Conn) admit(err error) {
	var refused error
	if ofCredentials(err) {
		refused = fmt.Errorf("%s refuses the credentials of %s: %w", c.url, c.holder, err)
	}
	if c.wallet != nil && (refused != nil || err == nil) {
		c.wallet.Admitted(err == nil)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = refused
}

// Leader is the hub that holds the lease now. ErrNotFound when none does.
func (c *Conn) Leader(ctx context.Context) (string, error) {
	m, err := c.LastMessage(ctx, c.Fleet.BucketStream(subjects.Lease), c.Fleet.BucketSubject(subjects.Lease, subjects.LeaseKey))
	if err != nil {
		return "", fmt.Errorf("reading the lease: %w", err)
	}
	if m == nil || IsMarker(m.Header) {
		return "", fmt.Errorf("%w: no hub leads fleet %s", ErrNotFound, c.Fleet.Name)
	}
	var held api.Lease
	if err := json.Unmarshal(m.Data, &held); err != nil {
		return "", fmt.Errorf("reading the lease: %w", err)
	}
	return held.Holder, nil
}
