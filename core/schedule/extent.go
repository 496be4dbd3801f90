package schedule

import (
	"math"

	"flotilla/core/verdict"
)

// unableReach is how many times the greatest absolute value of the members that can be picked one that cannot may have
// and still count. KubeFleet counts all of them; beyond that one of them alone would decide.
const unableReach = 32

// extent returns the least value of a property over the members that count, and the distance to the greatest. Those that
// can be picked count, and of those that cannot, whatever refuses them, the ones within unableReach (D30). Values that
// are no finite quantities are missing (D1).
func (d *decision) extent(c *propertyColumn) (low, span float64) {
	if c == nil {
		return 0, 0
	}
	low, high := math.Inf(1), math.Inf(-1)
	for row, f := range c.floats {
		if d.able(row) && !math.IsNaN(f) && !math.IsInf(f, 0) {
			low, high = min(low, f), max(high, f)
		}
	}
	if low > high {
		return 0, 0
	}
	most := unableReach * max(math.Abs(low), math.Abs(high))
	for _, f := range c.floats {
		if math.Abs(f) <= most {
			low, high = min(low, f), max(high, f)
		}
	}
	return low, high - low
}

// able reports whether no filter refuses the member, spread aside, once candidates were asked for.
func (d *decision) able(row int) bool {
	o := d.columns.Outcomes[row]
	return o.Is(0) || o.Is(verdict.OutcomeSpread) || o.Is(verdict.OutcomeRank) || o.Is(verdict.OutcomePlaced) && d.in.AllowEvicted
}
