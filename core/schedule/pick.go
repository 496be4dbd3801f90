package schedule

import (
	"cmp"
	"fmt"
	"slices"

	"flotilla/core/api"
	"flotilla/core/verdict"
)

// pickAll picks every member that fits and keeps what was picked under this policy before. Evicted
// members come back only where they are allowed to and nothing else fits.
func (d *decision) pickAll() {
	d.keepActive()
	candidates := d.candidates()
	if len(candidates) == 0 && d.picked == 0 && d.in.AllowEvicted {
		candidates = d.pardon()
	}
	for _, row := range candidates {
		d.columns.Outcomes[row] |= verdict.OutcomePicked | verdict.OutcomeScored
	}
	d.picked += len(candidates)
}

// pardon makes candidates of the members that were refused only because they were evicted, and that gave the placement up.
func (d *decision) pardon() []int32 {
	var rows []int32
	for row, o := range d.columns.Outcomes {
		if o.Is(verdict.OutcomePlaced) && !o.Has(verdict.OutcomePicked) && d.bindingOf(row) == nil {
			d.columns.Outcomes[row] &^= verdict.OutcomePlaced
			rows = append(rows, int32(row))
		}
	}
	return rows
}

// wanted returns the number of members that a PickN wants.
func (d *decision) wanted() int {
	if p := d.in.Policy; p != nil && p.NumberOfClusters != nil {
		return int(*p.NumberOfClusters)
	}
	return 0
}

// pickN keeps active bindings up to the wanted number and fills up with the best candidates.
func (d *decision) pickN() {
	d.scaleIn()
	d.keepActive()
	kept := d.picked
	rest := d.fill(d.candidates(), max(0, d.wanted()-d.picked))
	if missing := d.wanted() - d.picked; missing > 0 && d.in.AllowEvicted {
		rest = append(d.fill(d.pardon(), missing), rest...)
	}
	d.replaceFailing(d.picked - kept)
	d.rank(rest)
}

// scaleIn drops active bindings beyond the wanted number: those that nothing was released to first,
// then by the scores they were picked with, lowest first, then by name.
func (d *decision) scaleIn() {
	var active []*binding
	for i := range d.existing {
		if d.existing[i].standing == standsActive {
			active = append(active, &d.existing[i])
		}
	}
	excess := len(active) - d.wanted()
	if excess <= 0 {
		return
	}
	slices.SortStableFunc(active, func(a, b *binding) int {
		return cmp.Or(
			cmp.Compare(boolInt(a.State == api.BindingBound), boolInt(b.State == api.BindingBound)),
			cmp.Compare(a.pickedKey(), b.pickedKey()),
			cmp.Compare(a.row, b.row),
		)
	})
	for _, b := range active[:excess] {
		b.standing = standsDropped
		b.reason = fmt.Sprintf("scaled in to %d: it scored lowest of the %d members in use", d.wanted(), len(active))
	}
}

// pickedKey sorts by the scores of the pick; bindings without scores come first.
func (b *binding) pickedKey() uint64 {
	if b.AffinityScore == nil || b.SpreadScore == nil {
		return 0
	}
	return verdict.RankKey(*b.AffinityScore, *b.SpreadScore, true)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// fill scores the candidates, picks up to n of them and returns those that were scored and not
// picked, best first.
func (d *decision) fill(candidates []int32, n int) []int32 {
	if preferred := d.preferences(); len(preferred) > 0 {
		for i := range preferred {
			preferred[i].add(candidates, d.scores(&d.columns.Affinity))
		}
	}
	if constraints := d.fleet.constraints(d.in.Policy); len(constraints) > 0 {
		return d.fillSpread(constraints, candidates, n)
	}
	ranked := d.byScore(candidates)
	n = min(n, len(ranked))
	for _, row := range ranked[:n] {
		d.pick(row)
	}
	for _, row := range ranked[n:] {
		d.columns.Outcomes[row] |= verdict.OutcomeRank | verdict.OutcomeScored
	}
	return ranked[n:]
}

func (d *decision) pick(row int32) {
	d.columns.Outcomes[row] |= verdict.OutcomePicked | verdict.OutcomeScored
	d.picked++
}

// replaceFailing drops members that are out of contact for those that were picked in their place, and
// keeps the others as far as the wanted number reaches, the best first.
func (d *decision) replaceFailing(replacements int) {
	var failing []*binding
	for i := range d.existing {
		if d.existing[i].standing == standsFailing {
			failing = append(failing, &d.existing[i])
		}
	}
	slices.SortStableFunc(failing, func(a, b *binding) int {
		return cmp.Or(cmp.Compare(b.pickedKey(), a.pickedKey()), cmp.Compare(b.row, a.row))
	})
	kept := max(0, min(d.wanted()-d.picked, len(failing)))
	for _, b := range failing[:kept] {
		d.keep(b)
	}
	for i, b := range failing[kept:] {
		silent := d.silence(b.row).Minutes()
		if i < replacements {
			b.reason = fmt.Sprintf("sent no heartbeat for %.2f minutes, failover is after %.2f", silent, d.failoverAge().Minutes())
		} else {
			b.reason = fmt.Sprintf("scaled in to %d: it sent no heartbeat for %.2f minutes", d.wanted(), silent)
		}
	}
}

// rank numbers the picked members and then the rest, which come best first.
func (d *decision) rank(rest []int32) {
	d.columns.Ranks = make([]int32, d.fleet.Len())
	picked := make([]int32, 0, d.picked)
	for row, o := range d.columns.Outcomes {
		if o.Has(verdict.OutcomePicked) && o.Has(verdict.OutcomeScored) {
			picked = append(picked, int32(row))
		}
	}
	next := int32(1)
	for _, rows := range [2][]int32{d.byScore(picked), rest} {
		for _, row := range rows {
			d.columns.Ranks[row] = next
			next++
		}
	}
}
