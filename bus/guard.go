//go:build !unfenced

package bus

import "github.com/nats-io/nats.go"

// guard has the server refuse m once another hub leads.
func (w *Writer) guard(m *nats.Msg) { expectOf(m, w.termSubject(), w.fence) }

// guard has the server refuse m unless all before it is stored, and nothing of others.
func (c *chain) guard(m *nats.Msg) { expectLast(m, c.last) }
