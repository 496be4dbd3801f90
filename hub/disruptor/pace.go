package disruptor

import (
	"time"

	"flotilla/core/orchestration"
)

// memoFor is for how long at most a pass is spared when the last one found nothing.
const memoFor = 5 * time.Minute

// pace says when a member is to be decided on again.
type pace struct {
	// decided is when Decide was last asked; again that it is to be asked at once.
	decided time.Time
	again   bool
	// found is what the last decision found nothing in, and until when that holds.
	found grounds
	until time.Time
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
	case p.again:
		return false
	case g == p.found:
		return now.Before(p.until)
	default:
		return now.Before(p.decided.Add(interval))
	}
}

// note takes in what a pass led to; g is what it rested on, the record it wrote included.
func (p *pace) note(out *orchestration.StepResult, g grounds, now time.Time) {
	p.again = out.Again || len(out.Began)+len(out.Ended) > 0
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
	switch {
	case p.again:
		return now
	case g == p.found:
		return p.until
	default:
		return p.decided.Add(interval)
	}
}
