package member

import (
	"fmt"
	"slices"
	"strconv"
	"sync"

	"flotilla/bus"
	"flotilla/bus/lines"
	"flotilla/core/api"
	"flotilla/subjects"

	"github.com/nats-io/nats.go"
)

// hints are who is told of newer commands. Servers let an agent hear of them once its member is admitted.
type hints struct {
	mu           sync.Mutex
	subscription *nats.Subscription
	listeners    []*func(kind string, sequence uint64)
	lines        lines.Bound
	unheard      unheard
}

// OnHint calls f, on a goroutine of its own or of the connection, when a newer command is announced, and without a kind when some may have been
// that were not heard, until the returned function is called. Hints may be lost, doubled or forged: f must only look at the stored command.
func (a *Conn) OnHint(f func(kind string, sequence uint64)) (cancel func(), err error) {
	h := &a.hints
	h.mu.Lock()
	h.listeners = append(h.listeners, &f)
	h.mu.Unlock()
	return func() {
		h.mu.Lock()
		h.listeners = slices.DeleteFunc(slices.Clone(h.listeners), func(l *func(string, uint64)) bool { return l == &f })
		h.mu.Unlock()
		_ = a.hear() // it can only end
	}, a.hear()
}

// hear has the server announce newer commands while somebody wants to know and the agent may.
func (a *Conn) hear() error {
	h := &a.hints
	h.mu.Lock()
	defer h.mu.Unlock()
	may := a.may(api.AgentAdmitted) == nil && len(h.listeners) > 0 && h.unheard.every == 0
	var err error
	switch {
	case may && h.subscription == nil:
		h.subscription, err = a.conn.NC.Subscribe(a.conn.Fleet.Hints(a.member), a.hint)
	case !may && h.subscription != nil:
		_ = h.subscription.Unsubscribe() // else the connection is closed, and hears nothing either
		h.subscription = nil
	}
	if err != nil {
		return fmt.Errorf("subscribing to hints: %w", err)
	}
	return nil
}

func (a *Conn) hint(m *nats.Msg) {
	_, kind, ok := a.conn.Fleet.ParseHint(m.Subject)
	sequence, err := strconv.ParseUint(m.Header.Get(bus.HeaderSequence), 10, 64)
	if !ok || err != nil || !a.announced(m) {
		a.hints.lines.Of("hints", a.conn.Log.Warn).Str("subject", m.Subject).Msg("hint cannot be read")
		a.stranger(m)
		return
	}
	a.tellAll(kind, sequence)
}

// tellAll tells all who listen.
func (a *Conn) tellAll(kind string, sequence uint64) {
	a.hints.mu.Lock()
	listeners := a.hints.listeners
	a.hints.mu.Unlock()
	for _, f := range listeners {
		(*f)(kind, sequence)
	}
}

// announced says that a hint is a command that the server announces. Members can have what they read of their own sent to the subject of a hint;
// a server says beside what they stored where that lies.
func (a *Conn) announced(m *nats.Msg) bool {
	stream, subject := m.Header.Values(bus.HeaderStream), m.Header.Values(bus.HeaderSubject)
	return len(stream) == 1 && stream[0] == a.conn.Fleet.Stream(subjects.Commands) && len(subject) == 1 && a.conn.Fleet.Announces(m.Subject, subject[0])
}

// beyondLink says whether the server of the connection stores nothing itself, as leaf nodes do.
func (a *Conn) beyondLink() bool {
	stores, _ := a.conn.NC.ConnectedServerJetStream()
	return !stores && a.conn.NC.IsConnected()
}

// amongServers says whether the server of the connection is one of several, of which another may store or announce what
// this one is asked for.
func (a *Conn) amongServers() bool { return a.conn.NC.ConnectedClusterName() != "" || a.beyondLink() }
