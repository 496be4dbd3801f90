package schedule

import (
	"slices"

	"flotilla/core/verdict"
)

// pickFixed picks the named members that are eligible. A named member that is not keeps what it has
// and waits (D3); affinity, taints and namespaces are not asked.
func (d *decision) pickFixed() {
	unnamed := int32(-1)
	named := make([]bool, d.fleet.Len())
	for _, name := range d.in.Policy.ClusterNames {
		row, known := d.fleet.row(name)
		if !known {
			d.missing = append(d.missing, name)
			continue
		}
		if !named[row] {
			named[row] = true
			d.judgeFixed(row)
		}
	}
	slices.Sort(d.missing)
	d.missing = slices.Compact(d.missing)
	for row := range named {
		if named[row] {
			continue
		}
		if unnamed < 0 {
			unnamed = int32(len(d.columns.Causes))
			d.columns.Wants = append(d.columns.Wants, verdict.Want{Subject: "cluster is not named in clusterNames"})
			d.columns.Causes = append(d.columns.Causes, verdict.Cause{Want: int32(len(d.columns.Wants) - 1)})
		}
		d.columns.Outcomes[row] = verdict.OutcomeAffinity
		d.columns.First[row] = unnamed
	}
}

func (d *decision) judgeFixed(row int) {
	f := d.fleet
	b := d.bindingOf(row)
	d.columns.Outcomes[row] = 0
	test, age := d.clock.ineligible(f.ties[row], f.beats[row], f.turned[row])
	if test == eligible {
		d.columns.Outcomes[row] = verdict.OutcomePicked
		d.picked++
		return
	}
	d.blame(row, verdict.Cause{Want: d.eligibilityWant(test), Number: minutes(age)})
	d.columns.Outcomes[row] = verdict.OutcomeEligibility
	if b != nil && (b.standing == standsActive || b.standing == standsObsolete) {
		d.columns.Outcomes[row] |= verdict.OutcomeKeeps
		d.waiting = append(d.waiting, int32(row))
	}
}

// removeAll judges nobody: every binding of a placement that is being deleted goes.
func (d *decision) removeAll() {
	for i := range d.existing {
		d.existing[i].reason = "the placement is being deleted"
	}
	d.columns.Outcomes, d.columns.First = nil, nil
}
