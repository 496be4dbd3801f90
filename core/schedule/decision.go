package schedule

import (
	"slices"

	"flotilla/core/api"
	"flotilla/core/verdict"
)

// decision is one decision under way. Columns run over the rows of the fleet.
type decision struct {
	in    Input
	fleet *Fleet
	clock clock
	terms []term
	// tolerance is by taint list, evicted by row; evicted is nil when nobody was.
	tolerance tolerance
	evicted   []bool
	// bound is the index of a row's binding in existing, plus one; nil when there are none.
	bound    []int32
	existing []binding
	// waiting are rows that keep their workload without being picked (D3).
	waiting []int32

	// columns are the verdicts as they are found, by row of the fleet.
	columns verdict.Verdicts
	// eligibility numbers the wants of the eligibility tests that were used, plus one; others holds
	// those of wants that stand alone.
	eligibility [eligibilityTests]int32
	namespace   [2]int32
	eviction    int32
	// names holds the members of the verdicts where they are not those of the fleet.
	missing []string
	// picked counts picked members.
	picked int
}

// Schedule decides.
func Schedule(in Input) Plan {
	d := begin(in)
	switch {
	case in.Deleting:
		d.removeAll()
	case in.Policy.Type() == api.PickFixed:
		d.pickFixed()
	case in.Policy.Type() == api.PickN:
		d.pickN()
	default:
		d.pickAll()
	}
	return d.plan()
}

func begin(in Input) *decision {
	in.Thresholds = in.Thresholds.orDefault()
	if in.PolicyDigest == "" {
		in.PolicyDigest = PolicyDigest(in.Policy)
	}
	if in.Fleet == nil {
		in.Fleet = NewFleet()
	}
	f := in.Fleet
	d := &decision{
		in: in, fleet: f, clock: clockOf(in.Now, in.Thresholds),
		columns: verdict.Verdicts{Outcomes: make([]verdict.Outcome, f.Len()), First: make([]int32, f.Len())},
	}
	d.terms = f.requiredTerms(in.Policy, &d.columns.Wants)
	d.tolerance = f.tolerance(tolerationsOf(in.Policy), &d.columns.Wants)
	d.markEvicted()
	d.classify()
	return d
}

func tolerationsOf(p *api.Policy) []api.Toleration {
	if p == nil {
		return nil
	}
	return p.Tolerations
}

func (d *decision) markEvicted() {
	for _, name := range d.in.Evicted {
		if row, known := d.fleet.row(name); known {
			if d.evicted == nil {
				d.evicted = make([]bool, d.fleet.Len())
			}
			d.evicted[row] = true
		}
	}
}

// candidates asks the filters of every member and returns the rows that may be picked. Members that
// hold an active binding are judged too, for their verdict, and are no candidates.
func (d *decision) candidates() []int32 {
	rows := make([]int32, 0, d.fleet.Len())
	for row := range d.columns.Outcomes {
		refusal := d.refuse(row)
		d.columns.Outcomes[row] |= refusal
		if refusal == 0 && !d.active(row) {
			rows = append(rows, int32(row))
		}
	}
	return rows
}

// refuse asks the filters in their order and returns the first that refuses, or 0.
func (d *decision) refuse(row int) verdict.Outcome {
	if len(d.terms) > 0 && !d.selected(row) {
		return verdict.OutcomeAffinity
	}
	f := d.fleet
	if test, age := d.clock.ineligible(f.ties[row], f.beats[row], f.turned[row]); test != eligible {
		d.blame(row, verdict.Cause{Want: d.eligibilityWant(test), Number: minutes(age)})
		return verdict.OutcomeEligibility
	}
	if d.in.Namespace != "" && !d.hasNamespace(row) {
		return verdict.OutcomeNamespace
	}
	if want := d.tolerance[f.taints.ids[row]]; want >= 0 {
		d.blame(row, verdict.Cause{Want: want})
		return verdict.OutcomeTaint
	}
	if d.evicted != nil && d.evicted[row] {
		d.blame(row, verdict.Cause{Want: d.evictionWant()})
		return verdict.OutcomePlaced
	}
	return 0
}

// selected reports whether any term matches, and notes what each of them missed otherwise.
func (d *decision) selected(row int) bool {
	mark := len(d.columns.Causes)
	for i := range d.terms {
		test := d.terms[i].miss(row)
		if test < 0 {
			d.columns.Causes = d.columns.Causes[:mark]
			return true
		}
		d.addCause(row, d.terms[i].cause(row, test))
	}
	d.columns.First[row] = int32(mark)
	return false
}

func (d *decision) hasNamespace(row int) bool {
	m := d.fleet.members[row]
	switch {
	case !m.NamespaceCondition:
		return true
	case !m.NamespacesKnown:
		d.blame(row, verdict.Cause{Want: d.once(&d.namespace[0], verdict.Want{Subject: "cluster has no namespace information available"})})
		return false
	case !slices.Contains(m.Namespaces, d.in.Namespace):
		want := verdict.Want{Subject: "target namespace does not exist on cluster", Wanted: "namespace " + d.in.Namespace}
		d.blame(row, verdict.Cause{Want: d.once(&d.namespace[1], want)})
		return false
	}
	return true
}

func (d *decision) blame(row int, cause verdict.Cause) {
	d.columns.First[row] = int32(len(d.columns.Causes))
	d.addCause(row, cause)
}

// addCause makes room, on first use, for one cause of each row that is still to come.
func (d *decision) addCause(row int, cause verdict.Cause) {
	if d.columns.Causes == nil {
		d.columns.Causes = make([]verdict.Cause, 0, d.fleet.Len()-row)
	}
	d.columns.Causes = append(d.columns.Causes, cause)
}

// once adds a want on its first use.
func (d *decision) once(slot *int32, want verdict.Want) int32 {
	if *slot == 0 {
		d.columns.Wants = append(d.columns.Wants, want)
		*slot = int32(len(d.columns.Wants))
	}
	return *slot - 1
}

func (d *decision) eligibilityWant(test int) int32 {
	if d.eligibility[test] == 0 {
		return d.once(&d.eligibility[test], eligibilityWants(d.in.Thresholds)[test])
	}
	return d.eligibility[test] - 1
}

func (d *decision) evictionWant() int32 {
	return d.once(&d.eviction, verdict.Want{
		Subject: "cluster was evicted from this placement under this policy",
		Wanted:  "another policy, or annotation " + api.AnnotationAllowEvicted + `: "true"`,
	})
}
