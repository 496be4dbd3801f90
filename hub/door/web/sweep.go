package web

import (
	"context"
	"time"

	"flotilla/bus/store"
)

// sweepKey is the one key of the queue.
const sweepKey = "sessions"

// mostAtOnce is how many records one sweep removes in one write.
const mostAtOnce = 500

// Run removes links and sessions that hold no more, until ctx ends.
func (s *Sessions) Run(ctx context.Context) {
	wake := func(string) { s.sweeper.Add(sweepKey) }
	s.records.OnChange(wake)
	s.users.OnChange(wake)
	s.sweeper.Run(ctx, s.sweep)
}

// sweep removes what holds no more or cannot be read, and says when the next one ends.
func (s *Sessions) sweep(ctx context.Context, _ string) (next time.Time, err error) {
	var remove []store.Op
	for name := range s.records.Broken() {
		remove = append(remove, s.records.Delete(name, s.records.Revision(name)))
	}
	for _, e := range s.records.All() {
		switch ends := e.Value.Ends.Time; {
		case !s.stands(&e.Value):
			remove = append(remove, s.records.Delete(e.Name, e.Revision))
		case next.IsZero() || ends.Before(next):
			next = ends
		}
	}
	if len(remove) == 0 {
		return next, nil
	}
	// What is left comes next: removing wakes again.
	_, err = s.store.Writer.Write(ctx, remove[:min(len(remove), mostAtOnce)]...)
	return next, err
}
