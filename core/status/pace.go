package status

import "time"

// How often a status is written.
const (
	// every is the least time between two records of a placement on which much is under way.
	every = time.Second
	// ahead is how much of it records may run ahead that tell that all is over.
	ahead = 10 * every
)

// Pace says when what is known of a placement is to be written: at once when what was on its way has arrived, as
// people wait for that; else once a second at most. A member that goes back and forth makes it no faster for long.
// The zero value has heard nothing.
type Pace struct {
	news   time.Time // when the first was heard of that is not looked at, zero when all is
	last   time.Time // when it was written last
	spent  time.Time // until when what was written would have been paid for, at one record in every
	moving bool      // something has been on its way since it was written
}

// Hear says that there is news.
func (p *Pace) Hear(now time.Time) {
	if p.news.IsZero() {
		p.news = now
	}
}

// Due is when a status is to be made of what is known: not after now where that is to happen at once. News of what
// is on its way is gathered for that long first.
func (p *Pace) Due(settled bool, gather time.Duration, now time.Time) time.Time {
	if p.news.IsZero() {
		return now // time alone, or somebody else, changed something
	}
	if settled && p.moving && p.spent.Sub(now) <= ahead {
		return now
	}
	p.moving = p.moving || !settled
	due := p.news.Add(gather)
	if next := p.last.Add(every); next.After(due) {
		due = next
	}
	return due
}

// Done says that a status was made of all that is known, and whether it had to be written.
func (p *Pace) Done(settled, written bool, now time.Time) {
	p.news, p.moving = time.Time{}, !settled
	if !written {
		return
	}
	p.last = now
	if p.spent.Before(now) {
		p.spent = now
	}
	p.spent = p.spent.Add(every)
}
