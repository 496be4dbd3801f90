package schedule

import (
	"cmp"
	"slices"
	"time"

	"flotilla/core/api"
	"flotilla/core/verdict"
)

// standing is what an existing binding counts for in this decision.
type standing uint8

const (
	standsActive    standing = iota // of the current policy: keeps its place
	standsObsolete                  // of an older policy: preferred on equal rank
	standsWithdrawn                 // already on its way out: counts for nothing
	standsFailing                   // out of contact for longer than the placement puts up with
	standsGone                      // its member left, was evicted from it, or drained
	standsDropped                   // scaled in
)

// binding is an existing binding with its standing.
type binding struct {
	Existing
	row      int // -1 when its member is not in the fleet
	standing standing
	reason   string // why it goes, if it does
}

// classify looks up the existing bindings and says what each counts for.
func (d *decision) classify() {
	if len(d.in.Existing) == 0 {
		return
	}
	sorted := slices.Clone(d.in.Existing)
	slices.SortStableFunc(sorted, func(a, b Existing) int { return cmp.Compare(a.Member, b.Member) })
	d.existing = make([]binding, len(sorted))
	d.bound = make([]int32, d.fleet.Len())
	from := 0
	for i, e := range sorted {
		row, known := seek(d.fleet.names, from, e.Member)
		from = row
		if !known {
			d.existing[i] = binding{e, -1, standsGone, "is no longer a member of the fleet"}
			continue
		}
		d.existing[i] = d.stand(e, row)
		d.bound[row] = int32(i + 1)
		if d.existing[i].standing == standsObsolete {
			d.columns.Outcomes[row] |= verdict.OutcomeUsed
		}
	}
}

// seek finds name in sorted names from an index on, in steps that double: quick for neighbours.
func seek(names []string, from int, name string) (int, bool) {
	step := 1
	for from+step < len(names) && names[from+step] < name {
		step *= 2
	}
	low := from + step/2
	at, found := slices.BinarySearch(names[min(low, len(names)):min(from+step+1, len(names))], name)
	return min(low, len(names)) + at, found
}

func (d *decision) stand(e Existing, row int) binding {
	b := binding{Existing: e, row: row}
	switch {
	case e.State == api.BindingUnscheduled:
		b.standing = standsWithdrawn
	case d.fleet.ties[row]&bondLeaving != 0:
		b.standing, b.reason = standsGone, "has left the fleet"
	case d.evicted != nil && d.evicted[row]:
		b.standing, b.reason = standsGone, "was evicted"
	case slices.Contains(d.in.Drained, e.Member):
		b.standing, b.reason = standsGone, "was drained"
	case e.Policy != "" && e.Policy != d.in.PolicyDigest:
		b.standing = standsObsolete
	case d.failsOver() && d.silence(row) > d.failoverAge():
		b.standing = standsFailing
	}
	return b
}

// failsOver says that members out of contact are replaced. Only a PickN has others to put in their
// place (D24).
func (d *decision) failsOver() bool {
	return d.in.FailoverAfter > 0 && d.in.Policy.Type() == api.PickN
}

// failoverAge is the age of a heartbeat beyond which its member is replaced.
func (d *decision) failoverAge() time.Duration { return d.in.Thresholds.Heartbeat + d.in.FailoverAfter }

// silence is how long ago a member's last heartbeat was.
func (d *decision) silence(row int) time.Duration {
	return time.Duration(d.clock.now - d.fleet.beats[row])
}

// bindingOf returns the row's existing binding, or nil.
func (d *decision) bindingOf(row int) *binding {
	if d.bound == nil || d.bound[row] == 0 {
		return nil
	}
	return &d.existing[d.bound[row]-1]
}

func (d *decision) active(row int) bool {
	b := d.bindingOf(row)
	return b != nil && b.standing == standsActive
}

// keep marks a row picked with the scores that its binding was picked with.
func (d *decision) keep(b *binding) {
	d.columns.Outcomes[b.row] |= verdict.OutcomePicked
	d.picked++
	if b.AffinityScore == nil || b.SpreadScore == nil {
		return
	}
	d.columns.Outcomes[b.row] |= verdict.OutcomeScored
	if *b.AffinityScore != 0 {
		d.scores(&d.columns.Affinity)[b.row] = *b.AffinityScore
	}
	if *b.SpreadScore != 0 {
		d.scores(&d.columns.Spread)[b.row] = *b.SpreadScore
	}
}

// scores makes a column of scores on first use; until then it stands for zeros.
func (d *decision) scores(column *[]int32) []int32 {
	if *column == nil {
		*column = make([]int32, d.fleet.Len())
	}
	return *column
}

// keepActive keeps every active binding.
func (d *decision) keepActive() {
	for i := range d.existing {
		if d.existing[i].standing == standsActive {
			d.keep(&d.existing[i])
		}
	}
}
