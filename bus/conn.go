package bus

import (
	"context"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"flotilla/subjects"
)

// Conn is one connection of a hub or a client.
type Conn struct {
	NC    *nats.Conn
	JS    jetstream.JetStream
	Fleet subjects.Fleet
	Log   zerolog.Logger
}

// ConnectHub connects as hub replica o.Name ("flotilla-hub/<replica>") and retries until ctx ends.
func ConnectHub(ctx context.Context, o Options) (*Conn, error) { return nil, errUnbuilt }

// ConnectClient connects as the command line client ("flotilla-cli/<user>"). It does not retry: the
// error names the URL and the next command to type.
func ConnectClient(ctx context.Context, o Options) (*Conn, error) { return nil, errUnbuilt }

// Close drains nothing and closes the connection.
func (c *Conn) Close() { c.NC.Close() }

// OnReconnect calls f, on a goroutine of the connection, each time the connection came back.
func (c *Conn) OnReconnect(f func()) {}
