package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/verdict"
)

// verdictRoom is how many more verdicts an answer may hold.
type verdictRoom struct {
	bounded bool
	left    int
	notes   []string
}

// fill renders the verdicts of a placement, or when they do not fit those alone of members that keep the
// workload, and counts the rest.
func (r *verdictRoom) fill(p *Placement, decided *verdict.Verdicts) {
	whole := !r.bounded || decided.Len() <= r.left
	refused := map[string]int{}
	for i := range decided.Len() {
		v := decided.Row(i)
		if !whole && !v.Keeps {
			if v.Filter != "" {
				refused[v.Filter]++
			}
			continue
		}
		p.Verdicts = append(p.Verdicts, Verdict{
			Member: v.Member, Filter: v.Filter, Reason: v.Reason,
			AffinityScore: v.AffinityScore, TopologySpreadScore: v.TopologySpreadScore,
			Rank: v.Rank, Keeps: v.Keeps,
		})
	}
	r.left -= len(p.Verdicts)
	if !whole {
		r.notes = append(r.notes, fmt.Sprintf("placement/%s: %d verdicts are left out (%s): flotilla why placement/%s --member NAME",
			p.Name, decided.Len()-len(p.Verdicts), counts(p.Type, len(p.Picked), refused), p.Name))
	}
}

// counts is "10 picked, 8000 refused by affinity, 1990 by rank".
func counts(kind api.PlacementType, picked int, refused map[string]int) string {
	filters := slices.Collect(maps.Keys(refused))
	slices.SortFunc(filters, func(a, b string) int { return cmp.Or(refused[b]-refused[a], cmp.Compare(a, b)) })
	parts := []string{fmt.Sprintf("%d picked", picked)}
	for i, filter := range filters {
		by := "by"
		if i == 0 {
			by = "refused by"
		}
		if word := verdict.FilterWord(kind, filter); word != filter {
			parts = append(parts, fmt.Sprintf("%d %s", refused[filter], word))
			continue
		}
		parts = append(parts, fmt.Sprintf("%d %s %s", refused[filter], by, filter))
	}
	return strings.Join(parts, ", ")
}
