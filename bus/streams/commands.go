package streams

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

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
	headerOrder  = "Flotilla-Order" // that of api.Order
)

// Commands publishes the wanted state of members; the dispatcher alone calls it.
type Commands struct {
	conn  *bus.Conn
	curve nkeys.KeyPair // the hub's own
}

// CommandHead is what is known of a stored command without its body: of an index with its changes.
type CommandHead struct {
	Member, Kind string
	Sequence     uint64 // of the command as it is stored whole
	// Digest is of all that it asks for without its order, as the publisher defined it; empty where changes are missing.
	Digest string
	Order  api.Order
	// Position is that of its newest change, and Newest its sequence; both are those of the whole where there is none.
	Position api.IndexPosition
	Newest   uint64
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
	heads, err := c.heads(ctx, c.conn.Fleet.AllCommands())
	if err != nil {
		return nil, fmt.Errorf("listing commands: %w", err)
	}
	return heads, nil
}

// CommandTime is one message about what a member is to hold: its order, and when it was stored by the connection's clock.
type CommandTime struct {
	Order  api.Order
	Stored time.Time
}

// mostFilters is of how many members the messages are read by name; of more all are read.
const mostFilters = 40

// IndexTimes lists, by member, the messages that are kept about the indexes of members, in their order.
func (c *Commands) IndexTimes(ctx context.Context, members []string) (map[string][]CommandTime, error) {
	filters := []string{c.conn.Fleet.AllCommands()}
	wanted := make(map[string]bool, len(members))
	for _, member := range members {
		wanted[member] = true
	}
	if len(members) <= mostFilters {
		filters = nil
		for _, member := range members {
			filters = append(filters, c.conn.Fleet.Command(member, subjects.CommandPlacement), c.conn.Fleet.CommandDeltas(member))
		}
	}
	found := map[string][]CommandTime{}
	if len(members) == 0 {
		return found, nil
	}
	err := Each(ctx, c.conn, c.conn.Fleet.Stream(subjects.Commands), jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy, FilterSubjects: filters, HeadersOnly: true,
	}, func(m jetstream.Msg, meta *jetstream.MsgMetadata) {
		member, kind, ok := c.conn.Fleet.ParseCommand(m.Subject())
		if !ok {
			member, _, ok = c.conn.Fleet.ParseCommandDelta(m.Subject())
			kind = subjects.CommandPlacement
		}
		if ok && kind == subjects.CommandPlacement && wanted[member] {
			found[member] = append(found[member], CommandTime{parseOrder(m.Headers().Get(headerOrder)), c.conn.FromMachine(meta.Timestamp)})
		}
	})
	if err != nil {
		return nil, fmt.Errorf("reading when commands were stored: %w", err)
	}
	for _, times := range found {
		slices.SortFunc(times, func(a, b CommandTime) int { return a.Order.Compare(b.Order) })
	}
	return found, nil
}

// Head reads the head of one command. ErrNotFound when nothing was stored, and no change either.
func (c *Commands) Head(ctx context.Context, member, kind string) (CommandHead, error) {
	filters := []string{c.conn.Fleet.Command(member, kind)}
	if kind == subjects.CommandPlacement {
		filters = append(filters, c.conn.Fleet.CommandDeltas(member))
	}
	heads, err := c.heads(ctx, filters...)
	switch {
	case err != nil:
		return CommandHead{}, fmt.Errorf("reading command %s of %s: %w", kind, member, err)
	case len(heads) == 0:
		return CommandHead{}, fmt.Errorf("command %s of %s: %w", kind, member, bus.ErrNotFound)
	}
	return heads[0], nil
}

func (c *Commands) heads(ctx context.Context, filters ...string) ([]CommandHead, error) {
	found := stored{}
	err := Each(ctx, c.conn, c.conn.Fleet.Stream(subjects.Commands), jetstream.ConsumerConfig{
		DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy, FilterSubjects: filters, HeadersOnly: true,
	}, func(m jetstream.Msg, meta *jetstream.MsgMetadata) {
		one := message{sequence: meta.Sequence.Stream, header: m.Headers()}
		if member, kind, ok := c.conn.Fleet.ParseCommand(m.Subject()); ok {
			found.of(member, kind).whole = &one
		} else if member, slot, ok := c.conn.Fleet.ParseCommandDelta(m.Subject()); ok {
			found.of(member, subjects.CommandPlacement).change(slot, &one)
		}
	})
	return found.heads(), err
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
	return c.store(ctx, m, what, h, last)
}

// PublishChange stores a change of an index, sealed with the session key of its base, in the slot of its position, and
// returns its sequence. The head is that of the index with the change; what is stored whole must still be what it says:
// who stored that may store its changes. ErrConflict as of Publish.
func (c *Commands) PublishChange(ctx context.Context, h CommandHead, session []byte, change any) (uint64, error) {
	slot := h.Position.Number - 1
	what := fmt.Sprintf("change %s of the index of %s", h.Position, h.Member)
	value, err := bus.Encode(change)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	m := nats.NewMsg(c.conn.Fleet.CommandDelta(h.Member, slot))
	if m.Data, err = seal.Seal(seal.Change(h.Member, session, h.Position), value); err != nil {
		return 0, fmt.Errorf("%s: sealing it: %w", what, err)
	}
	if len(m.Data) > bus.MaxValue {
		return 0, fmt.Errorf("%s: %w: %d bytes compressed, at most %d", what, bus.ErrTooLarge, len(m.Data), bus.MaxValue)
	}
	m.Header.Set(bus.HeaderPosition, h.Position.String())
	return c.store(ctx, m, what, h, h.Sequence)
}

// store stores a message about a command of which last is the newest sequence as it is stored whole.
func (c *Commands) store(ctx context.Context, m *nats.Msg, what string, h CommandHead, last uint64) (uint64, error) {
	m.Header.Set(headerDigest, h.Digest)
	m.Header.Set(headerOrder, h.Order.String())
	bus.ExpectOf(m, c.conn.Fleet.Command(h.Member, h.Kind), last)
	ack, err := c.conn.Publish(ctx, m)
	if errors.Is(err, bus.ErrWrongSequence) {
		return 0, fmt.Errorf("%s: %w: sequence %d is not the last of %s", what, bus.ErrConflict, last, h.Kind)
	}
	if err != nil {
		return 0, fmt.Errorf("publishing %s: %w", what, err)
	}
	return ack.Sequence, nil
}

// Get reads one command as it is stored whole, sealed if it is. ErrNotFound.
func (c *Commands) Get(ctx context.Context, member, kind string) (body []byte, h CommandHead, err error) {
	subject := c.conn.Fleet.Command(member, kind)
	m, err := c.conn.FromLeader(ctx, c.conn.Fleet.Stream(subjects.Commands), subject)
	if err != nil {
		return nil, h, fmt.Errorf("reading command %s of %s: %w", kind, member, err)
	}
	body, err = bus.CommandBounds.Unpack(m.Value)
	return body, headOf(member, kind, message{sequence: m.Sequence, header: m.Header}), err
}

// Purge removes the command of one kind of a member that is gone, with its changes.
func (c *Commands) Purge(ctx context.Context, member, kind string) error {
	filters := []string{c.conn.Fleet.Command(member, kind)}
	if kind == subjects.CommandPlacement {
		filters = append(filters, c.conn.Fleet.CommandDeltas(member))
	}
	for _, filter := range filters {
		if err := c.conn.Purge(ctx, c.conn.Fleet.Stream(subjects.Commands), filter, 0); err != nil {
			return fmt.Errorf("purging command %s of %s: %w", kind, member, err)
		}
	}
	return nil
}

// sealTo seals a command to a public curve key, under which alone it can be opened, and as the hub's.
func (c *Commands) sealTo(value []byte, key string) ([]byte, error) {
	if key == "" {
		return value, nil
	}
	return c.curve.Seal(value, key)
}
