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
// of the label over all members, whatever their health, as far as they count.
type constraint struct {
	key     string
	skew    int32
	hard    bool
	column  *column  // nil when no member carries the key
	counts  []int32  // picks by value number
	weights []weight // by value number

	smallest, second, largest int32 // of the domains that count for all
}

func (f *Fleet) constraints(p *api.Policy) []constraint {
	if p == nil {
		return nil
	}
	prepared := make([]constraint, 0, len(p.TopologySpreadConstraints))
	for i := range p.TopologySpreadConstraints {
		from := &p.TopologySpreadConstraints[i]
		c := f.constraint(from.TopologyKey)
		c.skew, c.hard = maxSkew(from), from.WhenUnsatisfiable != api.ScheduleAnyway
		prepared = append(prepared, c)
	}
	return prepared
}

func (f *Fleet) constraint(key string) constraint {
	c := constraint{key: key, column: f.label(key)}
	if c.column != nil {
		c.counts, c.weights = make([]int32, len(c.column.values)), make([]weight, len(c.column.values))
	}
	return c
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

// measure finds the two smallest fills and the largest of the domains that count for all; with one all three are equal. With
// none everybody is judged by a domain that counts for one.
func (c *constraint) measure() {
	c.smallest, c.second, c.largest = math.MaxInt32, math.MaxInt32, 0
	for id := 1; id < len(c.counts); id++ {
		if c.weights[id] != countsForAll {
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
	smallest, second := c.lowest(domain)
	n, skew := c.counts[domain], c.largest-smallest
	switch {
	case c.largest == smallest:
		change = 1
	case n == smallest && smallest != second:
		change = -1
	case n == c.largest:
		change = 1
	}
	return change, skew+change > c.skew
}

// lowest are the two smallest fills, as a member of this domain is judged. A domain that counts for one member alone is empty
// while that member is not picked.
func (c *constraint) lowest(domain uint32) (smallest, second int32) {
	if c.weights[domain] == countsForOne {
		return 0, c.smallest
	}
	return c.smallest, c.second
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

// want is the phrase for a refusal by this constraint, as it stands now for members of this domain.
func (c *constraint) want(domain uint32) verdict.Want {
	smallest, _ := c.lowest(domain)
	return verdict.Want{
		Kind:    verdict.WantSpread,
		Subject: fmt.Sprintf("violated doNotSchedule topology spread constraint %q (max skew %d)", c.key, c.skew),
		Wanted:  fmt.Sprintf("emptiest %d, fullest %d", smallest, c.largest),
		Values:  c.column.values,
	}
}
