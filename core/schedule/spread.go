package schedule

import (
	"fmt"
	"math"

	"flotilla/core/api"
	"flotilla/core/verdict"
)

// anywayPenalty is what a violated ScheduleAnyway constraint takes from a score.
const anywayPenalty = 1000

// constraint is one topology spread constraint with the picks counted so far. Domains are all values
// of the label over all members, whatever their health, but for those that agents alone state of members that cannot be
// picked (D32).
type constraint struct {
	key    string
	skew   int32
	hard   bool
	column *column // nil when no member carries the key
	counts []int32 // picks by value number
	found  []bool  // by value number: the domains that count

	smallest, second, largest int32
}

func (f *Fleet) constraints(p *api.Policy) []constraint {
	if p == nil {
		return nil
	}
	prepared := make([]constraint, 0, len(p.TopologySpreadConstraints))
	for i := range p.TopologySpreadConstraints {
		from := &p.TopologySpreadConstraints[i]
		c := constraint{
			key: from.TopologyKey, skew: maxSkew(from),
			hard: from.WhenUnsatisfiable != api.ScheduleAnyway, column: f.label(from.TopologyKey),
		}
		if c.column != nil {
			c.counts, c.found = make([]int32, len(c.column.values)), make([]bool, len(c.column.values))
		}
		prepared = append(prepared, c)
	}
	return prepared
}

func maxSkew(c *api.TopologySpreadConstraint) int32 {
	if c.MaxSkew == nil {
		return api.DefaultMaxSkew
	}
	return *c.MaxSkew
}

// domain returns the number of the member's value; 0 when it has none and the constraint does not
// concern it.
func (c *constraint) domain(row int32) uint32 {
	if c.column == nil {
		return 0
	}
	return c.column.ids[row]
}

// count notes a pick.
func (c *constraint) count(domain uint32) {
	if domain != 0 {
		c.counts[domain]++
	}
}

// measure finds the two smallest fills and the largest; with one domain all three are equal.
func (c *constraint) measure() {
	c.smallest, c.second, c.largest = math.MaxInt32, math.MaxInt32, 0
	for id := 1; id < len(c.counts); id++ {
		if c.column.uses[id] == 0 || !c.found[id] {
			continue
		}
		n := c.counts[id]
		switch {
		case n < c.smallest:
			c.smallest, c.second = n, c.smallest
		case n < c.second:
			c.second = n
		}
		c.largest = max(c.largest, n)
	}
	if c.second == math.MaxInt32 {
		c.second = c.smallest
	}
}

// judge says by how much one pick more in the domain would change the skew, and whether the result
// would be too much.
func (c *constraint) judge(domain uint32) (change int32, violated bool) {
	if domain == 0 {
		return 0, false
	}
	n, skew := c.counts[domain], c.largest-c.smallest
	switch {
	case c.largest == c.smallest:
		change = 1
	case n == c.smallest && c.smallest != c.second:
		change = -1
	case n == c.largest:
		change = 1
	}
	return change, skew+change > c.skew
}

// score adds up what all constraints say of one pick more in these domains. The first violated hard
// constraint is returned instead, or -1.
func score(constraints []constraint, domains []uint32) (sum int32, violated int) {
	for i := range constraints {
		if !constraints[i].hard {
			continue
		}
		change, broken := constraints[i].judge(domains[i])
		if broken {
			return 0, i
		}
		sum -= change
	}
	for i := range constraints {
		if constraints[i].hard {
			continue
		}
		if change, broken := constraints[i].judge(domains[i]); broken {
			sum -= anywayPenalty
		} else {
			sum -= change
		}
	}
	return sum, -1
}

// want is the phrase for a refusal by this constraint, as it stands now.
func (c *constraint) want() verdict.Want {
	return verdict.Want{
		Kind:    verdict.WantSpread,
		Subject: fmt.Sprintf("violated doNotSchedule topology spread constraint %q (max skew %d)", c.key, c.skew),
		Wanted:  fmt.Sprintf("emptiest %d, fullest %d", c.smallest, c.largest),
		Values:  c.column.values,
	}
}
