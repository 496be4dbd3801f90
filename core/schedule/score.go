package schedule

import (
	"math"

	"flotilla/core/api"
)

// preference is one preferred affinity term, ready to score.
type preference struct {
	weight    float64
	labels    []labelTest
	sorted    bool
	ascending bool
	column    *propertyColumn // nil when no member has the property
	low, span float64         // of the property over the members that count
}

// preferences prepares the preferred terms that can add to a score, once candidates were asked for.
func (d *decision) preferences() []preference {
	affinity := clusterAffinity(d.in.Policy)
	if affinity == nil {
		return nil
	}
	prepared := make([]preference, 0, len(affinity.Preferred))
	for i := range affinity.Preferred {
		from := &affinity.Preferred[i]
		if from.Weight == 0 {
			continue
		}
		to := preference{weight: float64(from.Weight)}
		to.labels, _ = d.fleet.labelTests(from.Preference.LabelSelector)
		if s := from.Preference.Sorter(); s != nil {
			to.sorted, to.ascending = true, s.SortOrder == api.Ascending
			to.column = d.fleet.property(api.CanonicalProperty(s.Name))
			to.low, to.span = d.extent(to.column)
		}
		prepared = append(prepared, to)
	}
	return prepared
}

// add adds the term's part to the scores of these rows, each rounded half away from zero.
func (p *preference) add(rows, scores []int32) {
	switch {
	case !p.sorted:
		for _, row := range rows {
			if passesAll(p.labels, int(row)) {
				scores[row] += int32(p.weight)
			}
		}
	case p.sorts():
		p.addSorted(rows, scores)
	}
}

func (p *preference) addSorted(rows, scores []int32) {
	for _, row := range rows {
		if part, counts := p.sortedPart(row); counts {
			scores[row] += int32(math.Round(part))
		}
	}
}

// sortedPart is a sorting term's part of the score of a row, not rounded yet.
func (p *preference) sortedPart(row int32) (part float64, counts bool) {
	f := p.column.floats[row]
	if math.IsNaN(f) || math.IsInf(f, 0) || !passesAll(p.labels, int(row)) {
		return 0, false
	}
	share := min(max((f-p.low)/p.span, 0), 1) // an outlier counts as the end of the extent
	if p.ascending {
		share = 1 - share
	}
	return share * p.weight, true
}

// Unrounded returns the affinity scores that these members would have now if their parts were not
// rounded, 0 for a name that is no member. Nobody is picked by them: they tell members of equal scores
// apart (D27).
func Unrounded(in Input, members []string) []float64 {
	scores := make([]float64, len(members))
	if in.Fleet == nil {
		return scores
	}
	d := begin(in)
	d.candidates()
	preferred := d.preferences()
	for i, name := range members {
		row, known := in.Fleet.row(name)
		if !known {
			continue
		}
		for k := range preferred {
			scores[i] += preferred[k].part(int32(row))
		}
	}
	return scores
}

// part is the term's part of the score of a row, not rounded yet.
func (p *preference) part(row int32) float64 {
	switch {
	case !p.sorted && passesAll(p.labels, int(row)):
		return p.weight
	case p.sorts():
		part, _ := p.sortedPart(row)
		return part
	}
	return 0
}

// sorts says that the term sorts by a property in which members differ.
func (p *preference) sorts() bool {
	return p.sorted && p.column != nil && p.span > 0 && !math.IsInf(p.span, 0)
}

func passesAll(tests []labelTest, row int) bool {
	for i := range tests {
		if !tests[i].passes(row) {
			return false
		}
	}
	return true
}
