package overview

import "time"

// MoreAt is when a budget of the pool lets more nodes go than its limit now, for any reason; zero where none does within the
// calendars.
func (p *PoolSum) MoreAt(now time.Time) (at time.Time) {
	for i := range p.Budgets {
		b := &p.Budgets[i]
		for _, span := range b.Calendar {
			if !span.From.After(now) || !at.IsZero() && !span.From.Before(at) {
				continue
			}
			for reason, limit := range span.Limits {
				if limit > b.Limits[reason] {
					at = span.From
				}
			}
		}
	}
	return at
}
