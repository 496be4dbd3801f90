package worker

import (
	"errors"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus/member"
	"flotilla/core/api"
	"flotilla/subjects"
)

// ledger holds the last result of each placement and brings it to the hub.
type ledger struct {
	store *diskStore
	hub   *member.Conn

	mu   sync.Mutex
	last map[string]api.PlacementResult
	told map[string]bool // by this process
	// unsaved are placements whose last result is not on disk.
	unsaved map[string]bool
}

func loadLedger(s *diskStore, hub *member.Conn) *ledger {
	return &ledger{store: s, hub: hub, last: s.loadResults(), told: map[string]bool{}, unsaved: map[string]bool{}}
}

// of returns the last result of a placement.
func (l *ledger) of(placement string) (api.PlacementResult, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, ok := l.last[placement]
	return r, ok
}

// put makes r the result of its placement. The hub is told when r differs from what it has; each
// process tells it once in any case. What could not be saved is saved with the next put, news or not.
func (l *ledger) put(r api.PlacementResult, came arrival, now time.Time) error {
	l.mu.Lock()
	last, ok := l.last[r.Placement]
	r.Changed, r.Times = changed(last, r, now), timesOf(&last, &r, came, now)
	fresh := !ok || !sameResult(last, r)
	if !fresh {
		r = last
	}
	told := l.told[r.Placement]
	l.last[r.Placement], l.told[r.Placement] = r, true
	l.mu.Unlock()
	var err error
	if fresh || !told {
		err = l.hub.TellResult(subjects.CommandPlacement, r.Placement, r)
	}
	return errors.Join(err, l.save(r, fresh))
}

// save brings a result to the disk that is not there.
func (l *ledger) save(r api.PlacementResult, fresh bool) error {
	l.mu.Lock()
	wanted := fresh || l.unsaved[r.Placement]
	l.mu.Unlock()
	if !wanted {
		return nil
	}
	err := l.store.saveResult(r)
	l.mu.Lock()
	defer l.mu.Unlock()
	if delete(l.unsaved, r.Placement); err != nil {
		l.unsaved[r.Placement] = true
	}
	return err
}

// forget drops the result of a placement that is over.
func (l *ledger) forget(placement string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.last, placement)
	delete(l.told, placement)
	delete(l.unsaved, placement)
	l.hub.DropResult(subjects.CommandPlacement, placement)
	return l.store.forgetResult(placement)
}

// unreported is how many results the hub does not have.
func (l *ledger) unreported() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for placement := range l.last {
		if !l.told[placement] || !l.hub.ResultTold(subjects.CommandPlacement, placement) {
			n++
		}
	}
	return n
}

// timesOf are the times of a result that follows another one: what it comes to for the first time it comes to now.
func timesOf(last, r *api.PlacementResult, came arrival, now time.Time) *api.ResultTimes {
	times := api.ResultTimes{Received: came.at.UnixMilli(), Command: came.order.Generation}
	switch {
	case last.Times != nil && last.UID == r.UID && last.Generation == r.Generation:
		times = *last.Times
	case came.at.IsZero():
		times = api.ResultTimes{Received: now.UnixMilli(), Late: true}
	}
	after := now.UnixMilli() - times.Received
	if times.Applied == nil && (r.Applied == yes || r.DiffReported == yes) {
		times.Applied = &after
	}
	if times.Available == nil && r.Available == yes {
		times.Available = &after
	}
	return &times
}

// changed is when the content or one of the two answers last turned.
func changed(last, r api.PlacementResult, now time.Time) metav1.Time {
	if last.UID == r.UID && last.Work == r.Work && last.Applied == r.Applied && last.Available == r.Available &&
		last.DiffReported == r.DiffReported && last.Withdrawn == r.Withdrawn && !last.Changed.IsZero() {
		return last.Changed
	}
	return metav1.NewTime(now.Truncate(time.Second))
}
