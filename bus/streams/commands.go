package streams

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/seal"
	"flotilla/subjects"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
)

// Headers of commands, so that they can be compared without their bodies.
const (
	headerDigest = "Flotilla-Digest"
	headerOrder  = "Flotilla-Order" // epoch.term.generation
)

// Commands publishes the wanted state of members; the dispatcher alone calls it.
type Commands struct {
	conn  *bus.Conn
	curve nkeys.KeyPair // the hub's own
}

// CommandHead is what is known of a stored command without its body.
type CommandHead struct {
	Member, Kind string
	Sequence     uint64
	Digest       string // of the body without its order, as the publisher defined it
	Order        api.Order
	// To is the public curve key that the command is sealed to when it is published; empty: it is not sealed.
	To string
}

// NewCommands returns the commands of the connection's fleet, sealed by the hub that holds the keys.
func NewCommands(c *bus.Conn, keys *seal.Keyring) (*Commands, error) {
	curve, err := bus.CurveOf(keys)
	return &Commands{conn: c, curve: curve}, err
}

// List reads the heads of all stored commands, sorted by member and kind.
func (c *Commands) List(ctx context.Context) ([]CommandHead, error) {
	var heads []CommandHead
	err := Each(ctx, c.conn, c.conn.Fleet.Stream(subjects.Commands), jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy, FilterSubject: c.conn.Fleet.AllCommands(), HeadersOnly: true,
	}, func(m jetstream.Msg, meta *jetstream.MsgMetadata) {
		if h, ok := c.head(m.Subject(), m.Headers(), meta.Sequence.Stream); ok {
			heads = append(heads, h)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("listing commands: %w", err)
	}
	slices.SortFunc(heads, func(a, b CommandHead) int {
		return strings.Compare(a.Member+" "+a.Kind, b.Member+" "+b.Kind)
	})
	return heads, nil
}

// head reads a message's headers; one that cannot be read has no digest and the lowest order.
func (c *Commands) head(subject string, header nats.Header, sequence uint64) (CommandHead, bool) {
	member, kind, ok := c.conn.Fleet.ParseCommand(subject)
	return CommandHead{
		Member: member, Kind: kind, Sequence: sequence,
		Digest: header.Get(headerDigest), Order: parseOrder(header.Get(headerOrder)),
	}, ok
}

// Publish stores a command whose subject must still have last as its newest sequence (0: none), and
// returns the new sequence. ErrConflict when it has not: List again. The server then announces it on
// the member's hint subject. h.Sequence is ignored.
func (c *Commands) Publish(ctx context.Context, h CommandHead, command any, last uint64) (uint64, error) {
	what := fmt.Sprintf("command %s of %s", h.Kind, h.Member)
	value, err := bus.Encode(command)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	m := nats.NewMsg(c.conn.Fleet.Command(h.Member, h.Kind))
	if m.Data, err = bus.CommandBounds.Pack(value); err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	if len(m.Data) > bus.MaxValue {
		return 0, fmt.Errorf("%s: %w: %d bytes compressed, at most %d", what, bus.ErrTooLarge, len(m.Data), bus.MaxValue)
	}
	if m.Data, err = c.sealTo(m.Data, h.To); err != nil {
		return 0, fmt.Errorf("%s: sealing it: %w", what, err)
	}
	m.Header.Set(headerDigest, h.Digest)
	m.Header.Set(headerOrder, formatOrder(h.Order))
	bus.Expect(m, last)
	ack, err := c.conn.Publish(ctx, m)
	if errors.Is(err, bus.ErrWrongSequence) {
		return 0, fmt.Errorf("%s: %w: sequence %d is not its last", what, bus.ErrConflict, last)
	}
	if err != nil {
		return 0, fmt.Errorf("publishing %s: %w", what, err)
	}
	return ack.Sequence, nil
}

// Get reads one stored command, as it is sealed if it is. ErrNotFound.
func (c *Commands) Get(ctx context.Context, member, kind string) (body []byte, h CommandHead, err error) {
	subject := c.conn.Fleet.Command(member, kind)
	m, err := c.conn.FromLeader(ctx, c.conn.Fleet.Stream(subjects.Commands), subject)
	if err != nil {
		return nil, h, fmt.Errorf("reading command %s of %s: %w", kind, member, err)
	}
	h, _ = c.head(subject, m.Header, m.Sequence)
	body, err = bus.CommandBounds.Unpack(m.Value)
	return body, h, err
}

// Purge removes the command of one kind of a member that is gone.
func (c *Commands) Purge(ctx context.Context, member, kind string) error {
	if err := c.conn.Purge(ctx, c.conn.Fleet.Stream(subjects.Commands), c.conn.Fleet.Command(member, kind), 0); err != nil {
		return fmt.Errorf("purging command %s of %s: %w", kind, member, err)
	}
	return nil
}

func formatOrder(o api.Order) string {
	return fmt.Sprintf("%d.%d.%d", o.Epoch, o.Term, o.Generation)
}

func parseOrder(s string) api.Order {
	var numbers [3]uint64
	for i, part := range strings.SplitN(s, ".", 3) {
		numbers[i], _ = strconv.ParseUint(part, 10, 64)
	}
	return api.Order{Epoch: numbers[0], Term: numbers[1], Generation: numbers[2]}
}

// sealTo seals a command to a public curve key, under which alone it can be opened, and as the hub's.
func (c *Commands) sealTo(value []byte, key string) ([]byte, error) {
	if key == "" {
		return value, nil
	}
	return c.curve.Seal(value, key)
}
