package api

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// Shapes of text that Karpenter's API server holds a NodePool to (disruption.md section 2 and 3.3).
var (
	poolDuration   = regexp.MustCompile(`^(([0-9]+(s|m|h))+|Never)$`)
	budgetDuration = regexp.MustCompile(`^([0-9]+[hm]|[0-9]+h[0-9]+m)(0s)?$`)
	budgetNodes    = regexp.MustCompile(`^((100|[0-9]{1,2})%|[0-9]+)$`)
)

const (
	maxBudgets       = 50
	maxBudgetReasons = 50
)

var consolidationPolicies = []string{WhenEmptyOrUnderutilized, WhenEmpty, Balanced, WhenUnderutilized}

func validateNodePool(p *NodePool) rules {
	var root *place
	f := validateOutside(KindNodePool, &p.ObjectMeta)
	f.subdomain(p.Name, root.in("metadata", "name"))
	f.poolAnnotations(p.Annotations, root.in("metadata", "annotations"))
	spec := root.child("spec")
	f.poolTemplate(&p.Spec.Template, spec.child("template"))
	if d := p.Spec.Disruption; d != nil {
		f.poolDisruption(d, spec.child("disruption"))
	}
	if w := p.Spec.Weight; w != nil && (*w < 1 || *w > 100) {
		f.add(spec.child("weight"), number(*w), "a number from 1 to 100", nil)
	}
	if r := p.Spec.Replicas; r != nil && *r < 0 {
		f.add(spec.child("replicas"), number(*r), "0 or more", nil)
	}
	return f
}

func (fs rules) poolAnnotations(a map[string]string, at *place) {
	fs.membersAnnotation(a, at)
	if v, ok := a[AnnotationExpiration]; ok {
		fs.choice(v, at.child(AnnotationExpiration), ExpirationForceful, "Voluntary")
	}
	if v, ok := a[AnnotationFleetBudget]; ok {
		if _, _, ok := FleetBudget(v); !ok {
			fs.add(at.child(AnnotationFleetBudget), quote(v), `<name>=<number or percentage>, like "web=5" or "web=10%"`, nil)
		}
	}
}

// membersAnnotation checks the selector of the members that have a pool or buy from a catalog (N1).
func (fs rules) membersAnnotation(a map[string]string, at *place) {
	v, ok := a[AnnotationMembers]
	if !ok {
		return
	}
	if _, err := labels.Parse(v); err != nil {
		fs.add(at.child(AnnotationMembers), quote(v), `a label selector, like "env=prod,region in (eastus, westus)"`, nil)
	}
}

func (fs rules) poolTemplate(t *NodePoolTemplate, at *place) {
	fs.labels(t.Metadata.Labels, at.in("metadata", "labels"))
	for _, key := range slices.Sorted(maps.Keys(t.Metadata.Annotations)) {
		fs.qualifiedName(strings.ToLower(key), at.in("metadata", "annotations").child(key))
	}
	spec := at.child("spec")
	fs.nodeTaints(t.Spec.Taints, spec.child("taints"))
	fs.nodeTaints(t.Spec.StartupTaints, spec.child("startupTaints"))
	for i := range t.Spec.Requirements {
		fs.nodeRequirement(&t.Spec.Requirements[i], spec.child("requirements").item(i))
	}
	fs.poolDuration(t.Spec.ExpireAfter, spec.child("expireAfter"), true)
	fs.poolDuration(t.Spec.TerminationGracePeriod, spec.child("terminationGracePeriod"), false)
	if c := t.Spec.NodeClassRef; c != nil && c.Name == "" {
		fs.add(spec.in("nodeClassRef", "name"), "nothing", "the name of a node class", nil)
	}
}

func (fs rules) nodeTaints(taints []NodeTaint, at *place) {
	for i, t := range taints {
		at := at.item(i)
		fs.qualifiedName(t.Key, at.child("key"))
		fs.labelValue(t.Value, at.child("value"))
		if t.Effect == "" {
			fs.add(at.child("effect"), "nothing", "NoSchedule, PreferNoSchedule or NoExecute", nil)
		}
		fs.choice(t.Effect, at.child("effect"), "NoSchedule", "PreferNoSchedule", "NoExecute")
	}
}

var nodeOperators = []string{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"}

func (fs rules) nodeRequirement(r *NodeRequirement, at *place) {
	fs.qualifiedName(r.Key, at.child("key"))
	fs.choice(r.Operator, at.child("operator"), nodeOperators...)
	values, operator := at.child("values"), meant(r.Operator, nodeOperators...)
	switch operator {
	case "In", "NotIn":
		if len(r.Values) == 0 {
			fs.add(values, "nothing", "at least one value for operator "+operator, nil)
		}
	case "Gt", "Lt", "Gte", "Lte":
		if n, err := strconv.Atoi(strings.Join(r.Values, ",")); err != nil || n < 0 {
			fs.add(values, quote(strings.Join(r.Values, ",")), "one whole number, 0 or more", nil)
		}
	case "Exists", "DoesNotExist":
		if len(r.Values) > 0 {
			fs.add(values, listOf(len(r.Values)), "no values for operator "+operator, nil)
		}
	}
	if r.Operator == "" {
		fs.add(at.child("operator"), "nothing", oneOf(nodeOperators), nil)
	}
	if m := r.MinValues; m != nil && (*m < 1 || *m > 50 || operator == "In" && int(*m) > len(r.Values)) {
		fs.add(at.child("minValues"), number(*m), "a number from 1 to 50, not above the number of values", nil)
	}
}

func (fs rules) poolDuration(text string, at *place, never bool) {
	if text == "" || poolDuration.MatchString(text) && (never || text != Never) {
		if d, err := time.ParseDuration(text); text == "" || text == Never || err == nil && d >= 0 {
			return
		}
	}
	fs.add(at, quote(text), expectedDuration(never), nil)
}

func expectedDuration(never bool) string {
	expected := `a duration in hours, minutes and seconds, like "30s" or "168h"`
	if never {
		expected += ", or Never"
	}
	return expected
}

// emptyPoolTexts finds the fields of a pool that are there and empty: one that is left out takes its default,
// an empty one is of no form that an API server takes.
func emptyPoolTexts(tree *node) rules {
	fs := newRules()
	var root *place
	template, disruption := []string{"spec", "template", "spec"}, []string{"spec", "disruption"}
	for _, field := range []struct {
		within         []string
		name, expected string
	}{
		{template, "expireAfter", expectedDuration(true)},
		{template, "terminationGracePeriod", expectedDuration(false)},
		{disruption, "consolidationPolicy", oneOf(consolidationPolicies)},
		{disruption, "consolidateAfter", expectedDuration(true)},
		{disruption, "expireAfter", expectedDuration(true)},
	} {
		at, n := root.in(field.within...).child(field.name), tree
		for _, name := range field.within {
			n = n.get(name)
		}
		if n = n.get(field.name); n != nil && n.shape == shapeText && n.text == "" {
			fs.add(at, quote(""), field.expected, nil)
		}
	}
	return fs
}

func (fs rules) poolDisruption(d *PoolDisruption, at *place) {
	fs.choice(d.ConsolidationPolicy, at.child("consolidationPolicy"), consolidationPolicies...)
	fs.poolDuration(d.ConsolidateAfter, at.child("consolidateAfter"), true)
	fs.poolDuration(d.ExpireAfter, at.child("expireAfter"), true)
	budgets := at.child("budgets")
	if len(d.Budgets) > maxBudgets {
		fs.add(budgets, listOf(len(d.Budgets)), fmt.Sprintf("at most %d budgets", maxBudgets), nil)
	}
	for i := range d.Budgets {
		fs.budget(&d.Budgets[i], budgets.item(i))
	}
}

// budget refuses what can never be evaluated (N18); what only never counts is for LintBudgets.
func (fs rules) budget(b *DisruptionBudget, at *place) {
	if !budgetNodes.MatchString(b.Limit()) {
		fs.add(at.child("nodes"), quote(b.Limit()), `a number of nodes like "5", or a percentage from "0%" to "100%"`, nil)
	} else if n, err := strconv.ParseInt(strings.TrimSuffix(b.Limit(), "%"), 10, 32); err != nil || n < 0 {
		fs.add(at.child("nodes"), quote(b.Limit()), "at most 2147483647 nodes", nil)
	}
	if len(b.Reasons) > maxBudgetReasons {
		fs.add(at.child("reasons"), listOf(len(b.Reasons)), fmt.Sprintf("at most %d reasons", maxBudgetReasons), nil)
	}
	for i, r := range b.Reasons {
		fs.choice(r, at.child("reasons").item(i), DisruptionReasons...)
		if r == "" {
			fs.add(at.child("reasons").item(i), "nothing", oneOf(DisruptionReasons), nil)
		}
	}
	switch {
	case b.Schedule == nil && b.Duration != nil:
		fs.add(at.child("schedule"), "nothing", "a schedule: duration counts from the moments it names", nil)
	case b.Schedule != nil && b.Duration == nil:
		fs.add(at.child("duration"), "nothing", "how long the budget counts each time, like 8h", nil)
	}
	fs.budgetWindow(b, at)
}

// budgetWindow checks when a budget counts.
func (fs rules) budgetWindow(b *DisruptionBudget, at *place) {
	if b.Schedule != nil {
		fs.schedule(*b.Schedule, at.child("schedule"))
	}
	if d := b.Duration; d != nil && !budgetDuration.MatchString(*d) {
		fs.add(at.child("duration"), quote(*d), `hours and minutes, like "8h", "10m" or "5h30m"`, nil)
	}
	if b.TimeZone != "" {
		if !isZone(b.TimeZone) {
			fs.add(at.child("timeZone"), quote(b.TimeZone), expectedZone, nil)
		} else if b.Schedule == nil {
			fs.add(at.child("timeZone"), quote(b.TimeZone), "nothing without a schedule", nil)
		}
	}
}

func (fs rules) schedule(s string, at *place) {
	expected := "five cron fields (minute hour day-of-month month day-of-week, 0-6 for Sunday to Saturday) or one of " + strings.Join(cronMacros, ", ")
	switch _, err := ParseCron(s); {
	case err == nil:
	case errors.Is(err, errCronMacro):
		fs.add(at, quote(s), expected, nil)
	case errors.Is(err, errCronZone):
		fs.add(at, quote(s), "a schedule without a zone; put the zone in timeZone", nil)
	default:
		fs.add(at, quote(s)+" ("+err.Error()+")", expected, sundayAsZero(s))
	}
}

// sundayAsZero is a schedule whose Sunday is 7, as some crons take it, with 0 in its place; nil when that does
// not make it one.
func sundayAsZero(s string) *node {
	rest, found := strings.CutSuffix(strings.TrimSpace(s), " 7")
	if !found {
		return nil
	}
	if _, err := ParseCron(rest + " 0"); err != nil {
		return nil
	}
	return textNode(rest + " 0")
}

// nodePoolNotes remarks on what is accepted and means less than it seems.
func nodePoolNotes(p *NodePool) []string {
	var notes []string
	t, d := p.Spec.Template.Spec, p.Spec.Disruption
	if d != nil && d.ExpireAfter != "" && t.ExpireAfter != "" && d.ExpireAfter != t.ExpireAfter {
		notes = append(notes, fmt.Sprintf("spec.template.spec.expireAfter %s goes before spec.disruption.expireAfter %s", t.ExpireAfter, d.ExpireAfter))
	}
	if d != nil && d.ConsolidationPolicy == WhenUnderutilized {
		notes = append(notes, "spec.disruption.consolidationPolicy: WhenUnderutilized is read as "+WhenEmptyOrUnderutilized)
	}
	return append(notes, LintBudgets(p)...)
}

// CheckNodePoolZones refuses time zones of a pool's budgets that nobody knows; known is asked for each name
// that validation has no fault to find with. A nil pool has none.
func CheckNodePoolZones(p *NodePool, known func(name string) bool) Faults {
	if p == nil || p.Spec.Disruption == nil {
		return nil
	}
	f := newRules()
	var root *place
	for i := range p.Spec.Disruption.Budgets {
		b := &p.Spec.Disruption.Budgets[i]
		if zone := b.TimeZone; b.Schedule != nil && isZone(zone) && !known(zone) {
			at := root.in("spec", "disruption", "budgets").item(i).child("timeZone")
			f.add(at, quote(zone), expectedZone, nil)
		}
	}
	return f.faults(KindNodePool + "/" + p.Name)
}

const expectedZone = `an IANA time zone, like "Europe/Berlin"`

// isZone reports a text in the form of a zone's name.
func isZone(text string) bool { return zoneForm.MatchString(text) && text != "Local" }

// FleetBudget reads the value of AnnotationFleetBudget, "name=5" or "name=10%" (N11).
func FleetBudget(annotation string) (name, nodes string, ok bool) {
	name, nodes, found := strings.Cut(annotation, "=")
	return name, nodes, found && name != "" && budgetNodes.MatchString(nodes)
}
