package schedule

import (
	"flotilla/core/verdict"
)

// fillSpread picks one after the other, each against the picks before it. The picks see the groups
// that constraints tell apart, not the single members.
func (d *decision) fillSpread(constraints []constraint, candidates []int32, n int) []int32 {
	d.scores(&d.columns.Spread)
	if d.picked > 0 {
		d.countPicked(constraints)
	}
	for i := range constraints {
		d.fleet.weigh(&constraints[i], d.columns.Outcomes)
	}
	groups := groupsOf(constraints, d.byScore(candidates))
	for {
		best := d.judge(constraints, groups)
		if n == 0 || best == nil {
			break
		}
		row := best.rows[0]
		best.rows = best.rows[1:]
		d.columns.Spread[row] = best.spread
		d.pick(row)
		if n--; n == 0 {
			break
		}
		for i := range constraints {
			constraints[i].count(best.domains[i])
		}
	}
	return d.settle(constraints, groups)
}

// countPicked counts the members that were picked before.
func (d *decision) countPicked(constraints []constraint) {
	for row, o := range d.columns.Outcomes {
		if !o.Has(verdict.OutcomePicked) {
			continue
		}
		for i := range constraints {
			constraints[i].count(constraints[i].domain(int32(row)))
		}
	}
}

// judge scores every group against the picks so far and returns the one whose first member is next;
// nil when none is left that may be picked.
func (d *decision) judge(constraints []constraint, groups []group) *group {
	for i := range constraints {
		constraints[i].measure()
	}
	var best *group
	for i := range groups {
		g := &groups[i]
		if len(g.rows) == 0 {
			continue
		}
		g.spread, g.violated = score(constraints, g.domains)
		if g.violated < 0 && (best == nil || d.before(g, best)) {
			best = g
		}
	}
	return best
}

// before reports whether the first member of a ranks before that of b.
func (d *decision) before(a, b *group) bool {
	key, other := d.headKey(a), d.headKey(b)
	return key > other || key == other && a.rows[0] > b.rows[0]
}

func (d *decision) headKey(g *group) uint64 {
	row := g.rows[0]
	return verdict.RankKey(scoreAt(d.columns.Affinity, int(row)), g.spread, d.columns.Outcomes[row].Has(verdict.OutcomeUsed))
}

// settle gives those that were not picked the judgement of the last round, and returns the scored,
// best first.
func (d *decision) settle(constraints []constraint, groups []group) []int32 {
	left, wants := 0, make([][countsForAll + 1]int32, len(constraints))
	for i := range groups {
		g := &groups[i]
		switch {
		case len(g.rows) == 0:
		case g.violated >= 0:
			c, domain := &constraints[g.violated], g.domains[g.violated]
			d.refuseSpread(g, c, domain, &wants[g.violated][c.weights[domain]])
		default:
			left += len(g.rows)
			for _, row := range g.rows {
				d.columns.Spread[row] = g.spread
				d.columns.Outcomes[row] |= verdict.OutcomeRank | verdict.OutcomeScored
			}
		}
	}
	rest := make([]int32, 0, left)
	for row, o := range d.columns.Outcomes {
		if o.Is(verdict.OutcomeRank) {
			rest = append(rest, int32(row))
		}
	}
	return d.byScore(rest)
}

// refuseSpread refuses what is left of a group; all of them share one cause.
func (d *decision) refuseSpread(g *group, c *constraint, domain uint32, want *int32) {
	cause := verdict.Cause{Want: d.once(want, c.want(domain)), Value: int32(domain), Number: c.counts[domain]}
	for _, row := range g.rows {
		if d.columns.Affinity != nil {
			d.columns.Affinity[row] = 0
		}
		d.columns.Outcomes[row] |= verdict.OutcomeSpread
		d.columns.First[row] = int32(len(d.columns.Causes))
	}
	d.columns.Causes = append(d.columns.Causes, cause)
}
