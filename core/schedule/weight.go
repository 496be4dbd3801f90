package schedule

import (
	"slices"

	"flotilla/core/verdict"
)

// weight says for whom a domain counts (D32).
type weight uint8

const (
	countsForNobody weight = iota // agents alone state it, and none of their members can be picked
	countsForOne                  // agents alone state it, and one of their members can be picked: it counts for that one
	countsForAll                  // people wrote it, or two of its members can be picked
)

// weigh finds for whom the domains of a constraint count, where these are the outcomes of the members. Those that people wrote
// count for all, and so do those with two members that can be picked: an agent on its own can state no domain that holds others
// back (D32).
func (f *Fleet) weigh(c *constraint, outcomes []verdict.Outcome) {
	if c.column == nil {
		return
	}
	left := len(c.column.index)
	for row, id := range c.column.ids {
		if id == 0 || c.weights[id] == countsForAll {
			continue
		}
		switch {
		case !slices.Contains(f.members[row].Agent.Stated, c.key):
			c.weights[id] = countsForAll
		case pickable(outcomes[row]):
			c.weights[id]++
		}
		if c.weights[id] == countsForAll {
			if left--; left == 0 {
				return
			}
		}
	}
}

// pickable reports whether a member is picked, or nothing but the picks of others stands against it.
func pickable(o verdict.Outcome) bool {
	return o.Has(verdict.OutcomePicked) || o.Is(0) || o.Is(verdict.OutcomeSpread) || o.Is(verdict.OutcomeRank)
}

// Uncounted are the domains of a topology spread constraint that do not count for other members than their own, by what was
// decided of all members (D32).
func (f *Fleet) Uncounted(topologyKey string, decided *verdict.Verdicts) []string {
	c := f.constraint(topologyKey)
	if c.column == nil || len(decided.Outcomes) != f.Len() {
		return nil
	}
	f.weigh(&c, decided.Outcomes)
	var uncounted []string
	for value, id := range c.column.index {
		if c.weights[id] != countsForAll {
			uncounted = append(uncounted, value)
		}
	}
	slices.Sort(uncounted)
	return uncounted
}
