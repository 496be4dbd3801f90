package bus

import "time"

// A member may state something so often at once, and again after so long.
const (
	statementsAtOnce = 10
	statementEvery   = time.Second
	mostAllowances   = 4096
)

// allowance is how much more a member may say.
type allowance struct {
	left float64
	at   time.Time
}

// allows takes one from what a member may say, unless there is nothing left.
func (s *Enrolments) allows(member string) bool {
	now := s.conn.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.pace[member]
	if a == nil {
		s.makeRoom(now)
		a = &allowance{left: statementsAtOnce, at: now}
		s.pace[member] = a
	}
	a.refill(now)
	if a.left < 1 {
		return false
	}
	a.left--
	return true
}

func (a *allowance) refill(now time.Time) {
	gained := float64(max(0, now.Sub(a.at))) / float64(statementEvery)
	a.left, a.at = min(statementsAtOnce, a.left+gained), now
}

// makeRoom forgets who was silent for long enough to be a stranger again. Only somebody who may use every subject
// can make there be more; then all are strangers.
func (s *Enrolments) makeRoom(now time.Time) {
	if len(s.pace) < mostAllowances {
		return
	}
	for member, a := range s.pace {
		if a.refill(now); a.left >= statementsAtOnce {
			delete(s.pace, member)
		}
	}
	if len(s.pace) >= mostAllowances {
		clear(s.pace)
	}
}
