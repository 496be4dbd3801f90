package schedule

import (
	"math"

	"flotilla/core/verdict"
)

const (
	// outlierReach is how many times the greatest absolute value of all others the value of a member may have and count in
	// full. KubeFleet counts all in full: one member alone could then make all others score alike.
	outlierReach = 16
	// unableReach is how many times the greatest absolute value of the members that can be picked one that cannot may have
	// and still count. KubeFleet counts all of them.
	unableReach = 32
)

// extent returns the least value of a property over the members that count, and the distance to the greatest. Those that
// can be picked count, and of those that cannot, whatever refuses them, the ones within unableReach (D30). Values that
// are no finite quantities are missing (D1).
func (d *decision) extent(c *propertyColumn) (low, span float64) {
	if c == nil {
		return 0, 0
	}
	all := d.ableRange(c)
	if all.low > all.high {
		return 0, 0
	}
	most := unableReach * all.size()
	for row, f := range c.floats {
		if math.Abs(f) <= most && !d.able(row) {
			all = all.with(f)
		}
	}
	return all.low, all.high - all.low
}

// ableRange returns the range of a property over the members that can be picked. The value farthest from zero counts in it
// as outlierReach times the greatest of the others if it is beyond that (D33), unless the others are alike: then nothing
// depends on it.
func (d *decision) ableRange(c *propertyColumn) valueRange {
	farthest, others := math.NaN(), noValues
	for row, f := range c.floats {
		switch {
		case !d.able(row) || math.IsNaN(f) || math.IsInf(f, 0):
			continue
		case math.IsNaN(farthest):
			farthest = f
			continue
		case math.Abs(f) > math.Abs(farthest):
			f, farthest = farthest, f
		}
		others = others.with(f)
	}
	switch {
	case math.IsNaN(farthest):
		return noValues
	case others.low < others.high:
		farthest = math.Copysign(min(math.Abs(farthest), outlierReach*others.size()), farthest)
	}
	return others.with(farthest)
}

// valueRange is that of some values of a property.
type valueRange struct{ low, high float64 }

// noValues is the range of none.
var noValues = valueRange{math.Inf(1), math.Inf(-1)}

func (r valueRange) with(f float64) valueRange { return valueRange{min(r.low, f), max(r.high, f)} }

// size is the greatest absolute value.
func (r valueRange) size() float64 { return max(math.Abs(r.low), math.Abs(r.high)) }

// able reports whether no filter refuses the member, spread aside, once candidates were asked for.
func (d *decision) able(row int) bool {
	o := d.columns.Outcomes[row]
	return o.Is(0) || o.Is(verdict.OutcomeSpread) || o.Is(verdict.OutcomeRank) || o.Is(verdict.OutcomePlaced) && d.in.AllowEvicted
}
