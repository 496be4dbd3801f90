package scheduler

import "sync"

// echoes keep the writes of a decision from waking the placement that was decided: the tables tell of them while they
// are written.
type echoes struct {
	mu      sync.Mutex
	writing map[string]bool
}

// hears reports whether a change of what was decided for a placement is news.
func (e *echoes) hears(placement string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.writing[placement]
}

func (e *echoes) deafen(placement string, deaf bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if deaf {
		e.writing[placement] = true
	} else {
		delete(e.writing, placement)
	}
}

// decided are the revisions of what a decision left.
type decided struct{ schedule, verdicts uint64 }

func (r *records) decided(placement string) decided {
	return decided{r.schedules.Revision(placement), r.verdicts.Revision(placement)}
}
