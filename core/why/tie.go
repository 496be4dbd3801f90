package why

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"flotilla/core/schedule"
	"flotilla/core/verdict"
)

// tiedShown bounds the members of a tie that are listed.
const tiedShown = 10

// Tie says that a rank was decided by name, because others have the same rounded scores (D27).
type Tie struct {
	// Count is how many members have these scores.
	Count int `json:"count"`
	// Members are the best ranked of them, at most ten, and the one that is explained.
	Members []Tied `json:"members"`
}

// Tied is one member of a tie. Affinity is its affinity score before each part was rounded.
type Tied struct {
	Member   string  `json:"member"`
	Rank     int     `json:"rank"`
	Affinity float64 `json:"affinity"`
}

// tieOf finds who has the same scores as the member of the verdict; nil when nobody has, or it was not
// ranked.
func tieOf(in schedule.Input, v *verdict.Verdicts, of *verdict.Verdict) *Tie {
	if of.Rank == 0 || of.AffinityScore == nil {
		return nil
	}
	tie := &Tie{}
	for i, rank := range v.Ranks {
		if rank > 0 && score(v.Affinity, i) == *of.AffinityScore && score(v.Spread, i) == *of.TopologySpreadScore {
			tie.Members = append(tie.Members, Tied{Member: v.Members[i], Rank: int(rank)})
		}
	}
	if tie.Count = len(tie.Members); tie.Count < 2 {
		return nil
	}
	slices.SortFunc(tie.Members, func(a, b Tied) int { return cmp.Compare(a.Rank, b.Rank) })
	if tie.Count > tiedShown {
		asked := slices.IndexFunc(tie.Members, func(t Tied) bool { return t.Member == of.Member })
		tie.Members = append(slices.Clone(tie.Members[:tiedShown-1]), tie.Members[max(asked, tiedShown-1)])
	}
	names := make([]string, len(tie.Members))
	for i := range tie.Members {
		names[i] = tie.Members[i].Member
	}
	for i, affinity := range schedule.Unrounded(in, names) {
		tie.Members[i].Affinity = affinity
	}
	return tie
}

// score reads a column of scores, which is absent where all are 0.
func score(column []int32, i int) int32 {
	if i < len(column) {
		return column[i]
	}
	return 0
}

// String is one line: "3 members have these scores after rounding and rank by name, z before a, those in
// use first: oslo (affinity 0.4091), berlin (0.2273), …".
func (t *Tie) String() string {
	parts := make([]string, len(t.Members))
	differ := t.differ()
	for i, m := range t.Members {
		parts[i] = m.Member
		if differ {
			parts[i] += fmt.Sprintf(" (%s)", unrounded(m.Affinity))
		}
	}
	text := fmt.Sprintf("%d members have these scores and rank by name, z before a, those in use first: ", t.Count)
	if differ {
		text = fmt.Sprintf("%d members have these scores after rounding and rank by name, z before a, those in use first; affinity before rounding: ", t.Count)
	}
	text += strings.Join(parts, ", ")
	if more := t.Count - len(t.Members); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// differ says that rounding alone made the members equal.
func (t *Tie) differ() bool {
	return slices.ContainsFunc(t.Members, func(m Tied) bool { return m.Affinity != t.Members[0].Affinity })
}

// unrounded shows a score with as many digits as tell it from its neighbours, four at most.
func unrounded(affinity float64) string {
	return fmt.Sprint(math.Round(affinity*1e4) / 1e4)
}
