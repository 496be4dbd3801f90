package member

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go"
)

// Conn is the connection of one member's agent. It needs no consumer: raw publish and direct get
// only, all within subjects.Fleet.AgentPermissions.
type Conn struct {
	conn    *bus.Conn
	member  string
	results *results
	wallet  *Wallet
	// brings says that the wallet has the credentials of the connection.
	brings bool

	hints hints
	twin  twin
}

// Connect connects as the agent of member ("flotilla-agent/<member>/<version>") and returns at
// once: it connects in the background, for ever, with jitter. What is put before it is connected
// fails; OnConnect tells when to begin.
func Connect(ctx context.Context, o bus.Options, member string) (*Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := subjects.CheckLabel("member", member); err != nil {
		return nil, err
	}
	name := "flotilla-agent/" + member
	if o.Version != "" {
		name += "/" + o.Version
	}
	if err := o.CheckMember(member); err != nil {
		return nil, err
	}
	c, err := o.Connect(name, append(newRejoin(o.Reconnect).options(), nats.CustomInboxPrefix(subjects.Inbox(member)), nats.NoEcho())...)
	if err != nil {
		return nil, err
	}
	a := &Conn{conn: c, member: member, brings: o.ByWallet()}
	a.wallet, _ = o.Wallet.(*Wallet)
	a.results = newResultSlots(a)
	a.conn.Listen(a.disturbed)
	a.OnConnect(func() { a.cameUp() })
	a.OnConnect(func() { a.results.reconnected() })
	return a, nil
}

// Member is the member's name.
func (a *Conn) Member() string { return a.member }

// URL is where the connection was told to go.
func (a *Conn) URL() string { return a.conn.URL() }

// Connected says that the connection is up now and that the agent may work with it.
func (a *Conn) Connected() bool {
	return a.conn.NC.IsConnected() && a.may(api.AgentAdmitted) == nil
}

// Heard says that the connection is up now and that heartbeats are taken.
func (a *Conn) Heard() bool { return a.conn.NC.IsConnected() && a.may(api.AgentJoining) == nil }

// OnConnect calls f, on a goroutine of the connection, each time the connection came up, until the
// returned function is called. When it is up already f is called at once.
func (a *Conn) OnConnect(f func()) (cancel func()) {
	up, cancel := a.conn.OnRestored(f)
	if up {
		f()
	}
	return cancel
}

// Close closes the connection. Results that are on their way are told by the next process.
func (a *Conn) Close() {
	a.results.close()
	a.hints.close()
	a.conn.Close()
}

// PutHeartbeat stores the heartbeat and returns when the server has it. ErrTooLarge above 64 KiB.
func (a *Conn) PutHeartbeat(ctx context.Context, h api.Heartbeat) error {
	h.Header = api.NewHeader(api.KindHeartbeat)
	h.Member = a.member
	text, err := a.encode(api.AgentJoining, "heartbeat", h, nil)
	if err != nil {
		return err
	}
	sequence, err := a.sendHeartbeat(ctx, text, a.twin.expected())
	other := errors.Is(err, bus.ErrWrongSequence)
	if other {
		sequence, err = a.sendHeartbeat(ctx, text, 0)
	}
	if err != nil {
		a.twin.unknown()
		return err
	}
	a.twin.stored(sequence, other)
	return nil
}

// sendHeartbeat stores a heartbeat where the newest has that sequence, 0 whatever it has.
func (a *Conn) sendHeartbeat(ctx context.Context, text []byte, expected uint64) (sequence uint64, err error) {
	m := nats.NewMsg(a.conn.Fleet.BucketSubject(subjects.Heartbeat, a.member))
	m.Data = text
	if expected > 0 {
		bus.Expect(m, expected)
	}
	return a.sendMsg(ctx, "heartbeat", m, bus.MaxHeartbeat)
}

// Twin is an ErrTwin that says what to do while another agent proves itself as the same member, nil while none does.
func (a *Conn) Twin() error {
	if !a.twin.there() {
		return nil
	}
	return fmt.Errorf("%w: stop one of the two; where the other is not known, type flotilla member revoke %s, and enrol anew", ErrTwin, a.member)
}

// PutInventory stores the member's inventory and returns when the server has it. ErrTooLarge above
// 256 KiB.
func (a *Conn) PutInventory(ctx context.Context, i api.MemberInventory) error {
	i.Header = api.NewHeader(api.KindInventory)
	i.Member = a.member
	return a.put(ctx, api.AgentAdmitted, "inventory", a.conn.Fleet.Inventory(a.member), i, bus.MemberBounds.Pack, bus.MaxInventory)
}

// PutNodeEvent stores the whole state of a node, compressed above GzipAbove, and returns when the server
// has it. ErrTooLarge when it is stored in more than MaxNodeEvent bytes.
func (a *Conn) PutNodeEvent(ctx context.Context, e api.NodeEvent) error {
	e.Header = api.NewHeader(api.KindNodeEvent)
	e.Member = a.member
	return a.put(ctx, api.AgentAdmitted, "state of node "+e.Node.Name, a.conn.Fleet.NodeEvent(a.member, e.Node.Name), e, bus.NodeBounds.Pack, bus.MaxNodeEvent)
}

// PutNodeInventory stores what the member has beside its nodes, as PutNodeEvent does.
func (a *Conn) PutNodeInventory(ctx context.Context, i api.NodeInventory) error {
	i.Header = api.NewHeader(api.KindNodeInventory)
	i.Member = a.member
	return a.put(ctx, api.AgentAdmitted, "inventory of nodes", a.conn.Fleet.NodeInventory(a.member), i, bus.InventoryBounds.Pack, bus.MaxNodeEvent)
}

// put stores a value, as pack makes it unless that is nil, for an agent that may do what a role may.
func (a *Conn) put(ctx context.Context, role, what, subject string, value any, pack func([]byte) ([]byte, error), limit int) error {
	text, err := a.encode(role, what, value, pack)
	if err == nil {
		_, err = a.send(ctx, what, subject, text, limit)
	}
	return err
}

// encode is a value as it is stored, for an agent that may do what a role may.
func (a *Conn) encode(role, what string, value any, pack func([]byte) ([]byte, error)) ([]byte, error) {
	text, err := json.Marshal(value)
	if err == nil && pack != nil {
		text, err = pack(text)
	}
	if err == nil {
		err = a.may(role)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return text, nil
}

// send stores a body, and returns its sequence.
func (a *Conn) send(ctx context.Context, what, subject string, body []byte, limit int) (sequence uint64, err error) {
	m := nats.NewMsg(subject)
	m.Data = body
	return a.sendMsg(ctx, what, m, limit)
}

func (a *Conn) sendMsg(ctx context.Context, what string, m *nats.Msg, limit int) (sequence uint64, err error) {
	if len(m.Data) > limit {
		return 0, fmt.Errorf("%s: %w: %d bytes, at most %d", what, bus.ErrTooLarge, len(m.Data), limit)
	}
	ctx, cancel := context.WithTimeout(ctx, bus.PublishTimeout)
	defer cancel()
	ack, err := a.conn.PublishAmong(ctx, m)
	if err != nil {
		return 0, fmt.Errorf("putting %s: %w", what, err)
	}
	return ack.Sequence, nil
}

// Command reads the member's newest command of a kind and its sequence. ErrNotFound when there never
// was one, ErrNotOfHub for an index that the hub did not seal for this agent.
func (a *Conn) Command(ctx context.Context, kind string) (body []byte, sequence uint64, err error) {
	f := a.conn.Fleet
	m, err := a.direct(ctx, f.Stream(subjects.Commands), f.Command(a.member, kind))
	if err == nil {
		body, err = a.opened(kind, m.Value)
	}
	if err == nil {
		body, err = bus.CommandBounds.Unpack(body)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("reading command %s: %w", kind, err)
	}
	return body, m.Sequence, nil
}

// direct is that of Conn, for who may work.
func (a *Conn) direct(ctx context.Context, stream, subject string) (bus.DirectMessage, error) {
	if err := a.may(api.AgentAdmitted); err != nil {
		return bus.DirectMessage{}, err
	}
	return a.conn.Direct(ctx, stream, subject)
}

// Content reads a piece of content as it is stored, sealed. ErrNotFound (not there yet).
func (a *Conn) Content(ctx context.Context, at string) (sealed []byte, err error) {
	return bus.ReadSealed(ctx, a.conn, at, a.direct)
}

// Now is the clock of the agent's process, as that of a Conn is.
func (a *Conn) Now() time.Time { return a.conn.Now() }

// Up is that of Conn.
func (a *Conn) Up() error { return a.conn.Up() }

// Refused is that of Conn.
func (a *Conn) Refused() error { return a.conn.Refused() }
