package trace

import (
	"slices"
	"time"

	"flotilla/core/api"
)

// picks are the events of decisions that changed the members of a placement, oldest first.
type picks []*api.Told

// of is when a member was picked that is picked, or lost one that is not, and why. Known is false when no event that is kept
// tells of it, and doubt is then one that may: it counts members that it has no room to name.
func (p picks) of(member string, gained bool) (at time.Time, reason string, known bool, doubt *api.Told) {
	for _, e := range slices.Backward(p) {
		changes := e.Picks.Lost
		if gained {
			changes = e.Picks.Gained
		}
		for i := range changes {
			c := &changes[i]
			switch {
			case slices.Contains(c.Members, member):
				return e.Stored, c.Reason, true, nil
			case len(c.Members) == c.Total:
			case gained && first(e.Picks):
				return e.Stored, c.Reason, true, nil // all who are picked were picked then, or later
			case doubt == nil:
				doubt = e
			}
		}
		if doubt != nil {
			return time.Time{}, "", false, doubt
		}
	}
	return time.Time{}, "", false, nil
}

// first says that there was no member before.
func first(p *api.Picks) bool {
	before := p.Count
	for _, c := range p.Gained {
		before -= c.Total
	}
	for _, c := range p.Lost {
		before += c.Total
	}
	return before == 0
}
