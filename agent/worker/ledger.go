package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/subjects"
)

// putTimeout bounds the wait for the server to take a result.
const putTimeout = 10 * time.Second

var errHubAway = errors.New("the hub is away")

// ledger holds the last result of each placement and brings it to the hub.
type ledger struct {
	store *store
	hub   *bus.AgentConn

	mu   sync.Mutex
	last map[string]api.PlacementResult
	sent map[string]bool // the hub has last
}

func loadLedger(s *store, hub *bus.AgentConn) (*ledger, error) {
	last, err := s.loadResults()
	if err != nil {
		return nil, err
	}
	return &ledger{store: s, hub: hub, last: last, sent: map[string]bool{}}, nil
}

// of returns the last result of a placement.
func (l *ledger) of(placement string) (api.PlacementResult, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, ok := l.last[placement]
	return r, ok
}

// put makes r the result of its placement. The hub is told when r differs from what it has; each
// process tells it once in any case. After an error put is to be called again.
func (l *ledger) put(ctx context.Context, r api.PlacementResult, now time.Time) error {
	l.mu.Lock()
	last, ok := l.last[r.Placement]
	r.Changed = changed(last, r, now)
	fresh := !ok || !sameResult(last, r)
	if !fresh {
		r = last
	}
	if !fresh && l.sent[r.Placement] {
		l.mu.Unlock()
		return nil
	}
	l.last[r.Placement], l.sent[r.Placement] = r, false
	l.mu.Unlock()
	err := l.send(ctx, r)
	if fresh {
		err = errors.Join(err, l.store.saveResult(r))
	}
	return err
}

func (l *ledger) send(ctx context.Context, r api.PlacementResult) error {
	if !l.hub.Connected() {
		return errHubAway
	}
	ctx, cancel := context.WithTimeout(ctx, putTimeout)
	defer cancel()
	if err := l.hub.PutResult(ctx, subjects.CommandPlacement, r.Placement, r); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if sameResult(l.last[r.Placement], r) {
		l.sent[r.Placement] = true
	}
	return nil
}

// forget drops the result of a placement that is over.
func (l *ledger) forget(placement string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.last, placement)
	delete(l.sent, placement)
	return l.store.forgetResult(placement)
}

// unsent lists the placements whose last result the hub does not have.
func (l *ledger) unsent() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for placement := range l.last {
		if !l.sent[placement] {
			out = append(out, placement)
		}
	}
	return out
}

// unsend makes every result be told again, because the hub may have lost what it had. It lists the
// placements whose result was told.
func (l *ledger) unsend() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for placement, sent := range l.sent {
		if sent {
			out = append(out, placement)
		}
	}
	clear(l.sent)
	return out
}

// changed is when the content or one of the two answers last turned.
func changed(last, r api.PlacementResult, now time.Time) metav1.Time {
	if last.UID == r.UID && last.Work == r.Work && last.Applied == r.Applied && last.Available == r.Available &&
		last.Withdrawn == r.Withdrawn && !last.Changed.IsZero() {
		return last.Changed
	}
	return metav1.NewTime(now.Truncate(time.Second))
}
