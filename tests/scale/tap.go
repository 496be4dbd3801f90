package main

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"flotilla/subjects"
)

// headerStream names the stream in answers to direct gets.
const headerStream = "Nats-Stream"

// importReplies is where answers go that cross from the account of the hub to others.
const importReplies = "_R_.>"

// tap hears what is sent to streams, asked of them and answered to agents, and counts it. It asks for nothing that
// somebody else has to answer: a subscriber to requests would keep servers from saying that nobody does.
type tap struct {
	nc    *nats.Conn
	names map[string]string // short name of a stream by its full one

	mu      sync.Mutex
	counted Traffic

	// heard is all that the server gave the tap; storing is how often anything was sent that is not a heartbeat, asking
	// how often anything was asked.
	heardMessages, heardBytes, storing, asking atomic.Int64
	lost                                       atomic.Bool
}

// openTap connects with the credentials of a hub.
func openTap(url, creds string, fleet subjects.Fleet) (*tap, error) {
	t := &tap{names: map[string]string{}, counted: Traffic{Sent: map[string]Count{}, Asked: map[string]Count{}, Read: map[string]Count{}}}
	nc, err := nats.Connect(url, nats.UserCredentials(creds), nats.Name("flotilla-scale/tap"), nats.MaxReconnects(-1),
		nats.ReconnectWait(20*time.Millisecond), nats.ReconnectJitter(0, 0),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) { t.lost.Store(true) }))
	if err != nil {
		return nil, fmt.Errorf("connecting the tap: %w", err)
	}
	t.nc = nc
	for _, a := range subjects.Assets() {
		t.names[a.StreamName(fleet)] = a.Short
		for _, subject := range a.Subjects(fleet) {
			err = errors.Join(err, t.hear(subject, t.sent(a.Short)), t.hear(subjects.DirectGet(a.StreamName(fleet), ">"), t.asked(a.Short)))
		}
	}
	err = errors.Join(err, t.hear(fleet.Hints("*"), t.hinted), t.hear(importReplies, t.read), nc.Flush())
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("opening the tap: %w", err)
	}
	return t, nil
}

func (t *tap) hear(subject string, count func(m *nats.Msg, c Count)) error {
	sub, err := t.nc.Subscribe(subject, func(m *nats.Msg) {
		size := m.Size() - len(m.Subject) - len(m.Reply)
		t.heardMessages.Add(1)
		t.heardBytes.Add(int64(size))
		t.mu.Lock()
		defer t.mu.Unlock()
		count(m, Count{1, float64(size)})
	})
	if err != nil {
		return fmt.Errorf("%s: %w", subject, err)
	}
	return sub.SetPendingLimits(-1, -1)
}

// beats are the streams that something is sent to all the time, whatever else goes on.
var beats = []string{subjects.Heartbeat, subjects.Lease}

func (t *tap) sent(stream string) func(*nats.Msg, Count) {
	beat := stream == subjects.Heartbeat || stream == subjects.Lease
	return func(_ *nats.Msg, c Count) {
		t.counted.Sent[stream] = t.counted.Sent[stream].and(c)
		if !beat {
			t.storing.Add(1)
		}
	}
}

func (t *tap) asked(stream string) func(*nats.Msg, Count) {
	return func(_ *nats.Msg, c Count) {
		t.counted.Asked[stream] = t.counted.Asked[stream].and(c)
		t.asking.Add(1)
	}
}

func (t *tap) hinted(_ *nats.Msg, c Count) { t.counted.Hints = t.counted.Hints.and(c) }

func (t *tap) read(m *nats.Msg, c Count) {
	if stream := t.names[m.Header.Get(headerStream)]; stream != "" {
		t.counted.Read[stream] = t.counted.Read[stream].and(c)
	}
}

// traffic is what was counted so far, without what only the server knows.
func (t *tap) traffic() Traffic {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.counted
	out.Sent, out.Asked, out.Read = maps.Clone(out.Sent), maps.Clone(out.Asked), maps.Clone(out.Read)
	return out
}

// check errs when the tap missed something, since counts are then too low.
func (t *tap) check() error {
	if t.lost.Swap(false) {
		return errors.New("the tap missed messages, so the counts are too low: give it more of the processors")
	}
	return nil
}

func (t *tap) close() { t.nc.Close() }

// lines reads the series of one metric of a Prometheus page, by their labels.
func lines(page, metric string) map[string]float64 {
	found := map[string]float64{}
	for line := range strings.Lines(page) {
		rest, is := strings.CutPrefix(line, metric+"{")
		if !is {
			continue
		}
		labels, value, is := strings.Cut(rest, "} ")
		var number float64
		if _, err := fmt.Sscan(value, &number); is && err == nil {
			found[labels] = number
		}
	}
	return found
}
