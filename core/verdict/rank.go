package verdict

import (
	"cmp"
	"slices"
)

// Rank fills Ranks from the outcomes and scores: picked members first, then by spread score,
// affinity score and use under an older policy, all descending, ties by name descending.
// Members without scores stay unranked.
func (v *Verdicts) Rank() {
	type entry struct {
		key uint64
		row int
	}
	var order []entry
	for i, o := range v.Outcomes {
		if o.Has(OutcomeScored) {
			order = append(order, entry{v.rankKey(i), i})
		}
	}
	slices.SortFunc(order, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.key, a.key), cmp.Compare(b.row, a.row))
	})
	v.Ranks = make([]int32, len(v.Members))
	for k, e := range order {
		v.Ranks[e.row] = int32(k + 1)
	}
}

func (v *Verdicts) rankKey(row int) uint64 {
	o := v.Outcomes[row]
	key := RankKey(at(v.Affinity, row), at(v.Spread, row), o.Has(OutcomeUsed))
	if o.Has(OutcomePicked) {
		key |= RankPicked
	}
	return key
}

// RankPicked is the bit of a RankKey that ranks picked members before all others.
const RankPicked uint64 = 1 << 63

// RankKey packs the three keys of the ranking into one number that sorts as they do: spread score
// before affinity score before use under an older policy. Scores are clamped to 30 bits; sums of
// weights of at most 100 stay far below.
func RankKey(affinity, spread int32, used bool) uint64 {
	key := uint64(clamp(spread))<<32 | uint64(clamp(affinity))<<1
	if used {
		key |= 1
	}
	return key
}

// clamp maps a score to an unsigned number of 31 bits that sorts alike.
func clamp(score int32) uint32 {
	const half = 1 << 30
	return uint32(max(-half, min(half-1, score)) + half)
}
