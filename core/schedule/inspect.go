package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/verdict"
)

// Check is one thing that the filters ask of a member: what was observed, what was wanted, and
// whether that passed.
type Check struct {
	Filter string `json:"filter"`
	// Term counts required affinity terms from 1; one that passes whole is enough. 0 elsewhere.
	Term int `json:"term,omitempty"`
	// Subject is a label key, a property name, a taint, or a phrase.
	Subject  string `json:"subject"`
	Observed string `json:"observed"`
	Wanted   string `json:"wanted"`
	Passed   bool   `json:"passed"`
}

// String renders the check on one line: `affinity, term 1: region is "westus", wanted In (eastus)`.
func (c Check) String() string {
	at := c.Filter
	if c.Term > 0 {
		at = fmt.Sprintf("%s, term %d", c.Filter, c.Term)
	}
	return fmt.Sprintf("%s: %s %s, wanted %s", at, c.Subject, c.Observed, c.Wanted)
}

// Inspect asks every filter but spread of one member, without stopping at the first that refuses.
// It returns nil for a name that is no member.
func Inspect(in Input, member string) []Check {
	d := begin(in)
	row, known := d.fleet.row(member)
	if !known {
		return nil
	}
	if d.in.Policy.Type() == api.PickFixed {
		return []Check{d.inspectNamed(row), d.inspectEligibility(row)}
	}
	checks := d.inspectTerms(row)
	checks = append(checks, d.inspectEligibility(row))
	checks = append(checks, d.inspectNamespace(row)...)
	checks = append(checks, d.inspectTaints(row)...)
	if d.evicted != nil && d.evicted[row] {
		want := d.columns.Wants[d.evictionWant()]
		checks = append(checks, Check{Filter: verdict.FilterPlaced, Subject: want.Subject, Observed: "yes", Wanted: want.Wanted})
	}
	return checks
}

func (d *decision) inspectTerms(row int) []Check {
	var checks []Check
	for i := range d.terms {
		t := &d.terms[i]
		for k := range len(t.labels) + len(t.properties) {
			cause := t.cause(row, k)
			want := &d.columns.Wants[cause.Want]
			passed := k < len(t.labels) && t.labels[k].passes(row) ||
				k >= len(t.labels) && t.properties[k-len(t.labels)].passes(row)
			checks = append(checks, Check{
				Filter: verdict.FilterAffinity, Term: i + 1, Subject: want.Subject,
				Observed: want.Observed(cause), Wanted: want.Wanted, Passed: passed,
			})
		}
	}
	return checks
}

func (d *decision) inspectNamed(row int) Check {
	c := Check{Filter: verdict.FilterAffinity, Subject: "clusterNames", Wanted: d.fleet.names[row]}
	c.Observed = "is " + strings.Join(d.in.Policy.ClusterNames, ", ")
	c.Passed = slices.Contains(d.in.Policy.ClusterNames, d.fleet.names[row])
	return c
}

func (d *decision) inspectEligibility(row int) Check {
	f := d.fleet
	c := Check{Filter: verdict.FilterEligibility, Subject: "member", Wanted: "connected, joined, healthy, not leaving"}
	test, age := d.clock.ineligible(f.ties[row], f.beats[row], f.turned[row])
	if c.Passed = test == eligible; c.Passed {
		c.Observed = "is eligible, last heartbeat " + ago(d.clock.now-f.beats[row])
		return c
	}
	want := eligibilityWants(d.in.Thresholds)[test]
	c.Observed = "is not eligible: " + want.Phrase(verdict.Cause{Number: minutes(age)})
	return c
}

// ago shows an age in nanoseconds, in whole seconds; clocks that differ do not make it negative.
func ago(age int64) string {
	return time.Duration(max(age, 0)).Round(time.Second).String() + " ago"
}

func (d *decision) inspectNamespace(row int) []Check {
	if d.in.Namespace == "" {
		return nil
	}
	c := Check{Filter: verdict.FilterNamespace, Subject: "namespace " + d.in.Namespace, Wanted: "present", Observed: "is present or not reported"}
	if c.Passed = d.hasNamespace(row); !c.Passed {
		c.Observed = "is missing"
		if !d.fleet.members[row].NamespacesKnown {
			c.Observed = "is unknown, the member reports no namespaces"
		}
	}
	return []Check{c}
}

func (d *decision) inspectTaints(row int) []Check {
	var checks []Check
	for _, taint := range d.fleet.members[row].Taints {
		checks = append(checks, Check{
			Filter: verdict.FilterTaint, Subject: "taint " + taint.String(), Observed: "is present", Wanted: "a toleration",
			Passed: tolerated(taint, tolerationsOf(d.in.Policy)),
		})
	}
	return checks
}
