package disruptor

import (
	"time"

	"flotilla/core/orchestration"
)

// memoFor is for how long at most a pass is spared when the last one found nothing.
const memoFor = 5 * time.Minute

// A member whose decision took some time rests for so many times that, so that none takes more than a fifth of a worker.
const (
	decisionShare = 4
	mostIdle      = 2 * time.Hour
)

// pace says when a member is to be decided on again.
type pace struct {
	// decided is when Decide was last asked; again that it is to be asked at once.
	decided time.Time
	again   bool
	// found is what the last decision found nothing in, and until when that holds.
	found grounds
	until time.Time
	// idle is until when nothing is chosen because deciding took long.
	idle time.Time
}

// grounds is all that a decision rests on, but for the time.
type grounds struct {
	known        bool
	view         uint64
	provisioning uint64
	record       uint64
	hold         string
	shared       string // what is left of fleet-wide budgets
}

// rests says that nothing new is to be chosen now.
func (p *pace) rests(g grounds, now time.Time, interval time.Duration) bool {
	switch {
	case now.Before(p.idle):
		return true
	case p.again:
		return false
	case g == p.found:
		return now.Before(p.until)
	default:
		return now.Before(p.decided.Add(interval))
	}
}

// rest lets a member rest after a step that took so long and ended now.
func (p *pace) rest(took time.Duration, now time.Time) {
	if until := now.Add(min(decisionShare*took, mostIdle)); until.After(p.idle) {
		p.idle = until
	}
}

// note takes in what a pass led to in a situation, the record that it wrote included.
func (p *pace) note(out *orchestration.StepResult, s *situation) {
	g, now := s.grounds, s.in.State.Now
	p.again = out.Again || len(out.Began)+len(out.Ended) > 0 || p.again && s.in.Resting
	if out.Failed > 0 {
		p.found = grounds{}
	}
	if out.Decision == nil {
		return
	}
	p.decided, p.found, p.until = now, grounds{}, time.Time{}
	if len(out.Decision.Commands) == 0 {
		p.found, p.until = g, now.Add(memoFor)
		if at := out.Decision.Recheck; !at.IsZero() && at.Before(p.until) {
			p.until = at
		}
	}
}

// next is when a decision is to be made again, after a pass that made one or rested: at once, when what the
// last one found nothing in may have changed by time alone, or when the interval allows.
func (p *pace) next(g grounds, now time.Time, interval time.Duration) time.Time {
	next := p.decided.Add(interval)
	switch {
	case p.again:
		next = now
	case g == p.found:
		next = p.until
	}
	if next.Before(p.idle) {
		return p.idle
	}
	return next
}
