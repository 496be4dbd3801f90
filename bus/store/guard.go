//go:build !unfenced

package store

import (
	"flotilla/bus"

	"github.com/nats-io/nats.go"
)

// guard has the server refuse m once another hub leads.
func (w *Writer) guard(m *nats.Msg) { bus.ExpectOf(m, w.termSubject(), w.fence) }

// guard has the server refuse m unless all before it is stored, and nothing of others.
func (c *chain) guard(m *nats.Msg) { bus.ExpectLast(m, c.last) }
