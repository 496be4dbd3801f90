package validate

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

	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/validate/budgets"
)

// Shapes of text that Karpenter's API server holds a NodePool to.
var (
	poolDuration   = regexp.MustCompile(`^(([0-9]+(s|m|h))+|Never)$`)
	budgetDuration = regexp.MustCompile(`^([0-9]+[hm]|[0-9]+h[0-9]+m)(0s)?$`)
	budgetNodes    = regexp.MustCompile(`^((100|[0-9]{1,2})%|[0-9]+)$`)
)

const (
	maxBudgets       = 50
	maxBudgetReasons = 50
)

var consolidationPolicies = []string{api.WhenEmptyOrUnderutilized, api.WhenEmpty, api.Balanced, api.WhenUnderutilized}

func validateNodePool(p *api.NodePool) rules {
	var root *strict.Place
	f := outsideRules(api.KindNodePool, p)
	f.Subdomain(p.Name, root.In("metadata", "name"))
	f.poolAnnotations(p.Annotations, root.In("metadata", "annotations"))
	spec := root.Child("spec")
	f.poolTemplate(&p.Spec.Template, spec.Child("template"))
	if d := p.Spec.Disruption; d != nil {
		f.poolDisruption(d, spec.Child("disruption"))
	}
	if w := p.Spec.Weight; w != nil && (*w < 1 || *w > 100) {
		f.Add(spec.Child("weight"), number(*w), "a number from 1 to 100", nil)
	}
	if r := p.Spec.Replicas; r != nil && *r < 0 {
		f.Add(spec.Child("replicas"), number(*r), "0 or more", nil)
	}
	return f
}

func (fs rules) poolAnnotations(a map[string]string, at *strict.Place) {
	fs.membersAnnotation(a, at)
	if v, ok := a[api.AnnotationExpiration]; ok {
		fs.choice(v, at.Child(api.AnnotationExpiration), api.ExpirationForceful, "Voluntary")
	}
	if v, ok := a[api.AnnotationFleetBudget]; ok {
		if _, _, ok := FleetBudget(v); !ok {
			fs.Add(at.Child(api.AnnotationFleetBudget), strict.Quote(v), `<name>=<number or percentage>, like "web=5" or "web=10%"`, nil)
		}
	}
}

// maxMembersSelector bounds a selector that is read for each member anew, in bytes; all regions of a provider fit twice.
const maxMembersSelector = 2048

// membersAnnotation checks the selector of the members that have a pool or buy from a catalog (N1).
func (fs rules) membersAnnotation(a map[string]string, at *strict.Place) {
	v, ok := a[api.AnnotationMembers]
	if !ok {
		return
	}
	if len(v) > maxMembersSelector {
		fs.Add(at.Child(api.AnnotationMembers), fmt.Sprintf("%d bytes", len(v)), fmt.Sprintf("a label selector of at most %d bytes", maxMembersSelector), nil)
		return
	}
	if _, err := labels.Parse(v); err != nil {
		fs.Add(at.Child(api.AnnotationMembers), strict.Quote(v), `a label selector, like "env=prod,region in (eastus, westus)"`, nil)
	}
}

func (fs rules) poolTemplate(t *api.NodePoolTemplate, at *strict.Place) {
	fs.labels(t.Metadata.Labels, at.In("metadata", "labels"))
	for _, key := range slices.Sorted(maps.Keys(t.Metadata.Annotations)) {
		fs.qualifiedName(strings.ToLower(key), at.In("metadata", "annotations").Child(key))
	}
	spec := at.Child("spec")
	fs.nodeTaints(t.Spec.Taints, spec.Child("taints"))
	fs.nodeTaints(t.Spec.StartupTaints, spec.Child("startupTaints"))
	if n := len(t.Spec.Requirements); n > maxRequirements {
		fs.Add(spec.Child("requirements"), fmt.Sprintf("a list of %d", n), fmt.Sprintf("at most %d requirements", maxRequirements), nil)
	} else {
		fs.nodeRequirements(t.Spec.Requirements, spec.Child("requirements"))
	}
	fs.poolDuration(t.Spec.ExpireAfter, spec.Child("expireAfter"), true)
	fs.poolDuration(t.Spec.TerminationGracePeriod, spec.Child("terminationGracePeriod"), false)
	if c := t.Spec.NodeClassRef; c != nil && c.Name == "" {
		fs.Add(spec.In("nodeClassRef", "name"), "nothing", "the name of a node class", nil)
	}
}

func (fs rules) nodeTaints(taints []api.NodeTaint, at *strict.Place) {
	for i, t := range taints {
		at := at.Item(i)
		fs.qualifiedName(t.Key, at.Child("key"))
		fs.labelValue(t.Value, at.Child("value"))
		if t.Effect == "" {
			fs.Add(at.Child("effect"), "nothing", "NoSchedule, PreferNoSchedule or NoExecute", nil)
		}
		fs.choice(t.Effect, at.Child("effect"), "NoSchedule", "PreferNoSchedule", "NoExecute")
	}
}

// maxPoolValues bounds all requirements of a NodePool, which are asked about each type of node; all types of a provider fit several
// times.
const maxPoolValues = 5000

func (fs rules) nodeRequirements(all []api.NodeRequirement, at *strict.Place) {
	values := 0
	for i := range all {
		fs.nodeRequirement(&all[i], at.Item(i))
		values += len(all[i].Values)
	}
	if values > maxPoolValues {
		fs.Add(at, fmt.Sprintf("requirements with %d values", values), fmt.Sprintf("at most %d values, those of all requirements together", maxPoolValues), nil)
	}
}

var nodeOperators = []string{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"}

func (fs rules) nodeRequirement(r *api.NodeRequirement, at *strict.Place) {
	fs.qualifiedName(r.Key, at.Child("key"))
	fs.choice(r.Operator, at.Child("operator"), nodeOperators...)
	values, operator := at.Child("values"), strict.Meant(r.Operator, nodeOperators...)
	if n := len(r.Values); n > maxValues {
		fs.Add(values, listOf(n), fmt.Sprintf("at most %d values", maxValues), nil)
		return
	}
	switch operator {
	case "In", "NotIn":
		if len(r.Values) == 0 {
			fs.Add(values, "nothing", "at least one value for operator "+operator, nil)
		}
	case "Gt", "Lt", "Gte", "Lte":
		if n, err := strconv.Atoi(strings.Join(r.Values, ",")); err != nil || n < 0 {
			fs.Add(values, strict.Quote(strings.Join(r.Values, ",")), "one whole number, 0 or more", nil)
		}
	case "Exists", "DoesNotExist":
		if len(r.Values) > 0 {
			fs.Add(values, listOf(len(r.Values)), "no values for operator "+operator, nil)
		}
	}
	if r.Operator == "" {
		fs.Add(at.Child("operator"), "nothing", oneOf(nodeOperators), nil)
	}
	if m := r.MinValues; m != nil && (*m < 1 || *m > 50 || operator == "In" && int(*m) > len(r.Values)) {
		fs.Add(at.Child("minValues"), number(*m), "a number from 1 to 50, not above the number of values", nil)
	}
}

func (fs rules) poolDuration(text string, at *strict.Place, never bool) {
	if text == "" || poolDuration.MatchString(text) && (never || text != api.Never) {
		if d, err := time.ParseDuration(text); text == "" || text == api.Never || err == nil && d >= 0 {
			return
		}
	}
	fs.Add(at, strict.Quote(text), expectedDuration(never), nil)
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
func emptyPoolTexts(tree *strict.Node) rules {
	fs := newRules()
	var root *strict.Place
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
		at, n := root.In(field.within...).Child(field.name), tree
		for _, name := range field.within {
			n = n.Get(name)
		}
		if n = n.Get(field.name); n != nil && n.Shape == strict.ShapeText && n.Text == "" {
			fs.Add(at, strict.Quote(""), field.expected, nil)
		}
	}
	return fs
}

func (fs rules) poolDisruption(d *api.PoolDisruption, at *strict.Place) {
	fs.choice(d.ConsolidationPolicy, at.Child("consolidationPolicy"), consolidationPolicies...)
	fs.poolDuration(d.ConsolidateAfter, at.Child("consolidateAfter"), true)
	fs.poolDuration(d.ExpireAfter, at.Child("expireAfter"), true)
	budgets := at.Child("budgets")
	if len(d.Budgets) > maxBudgets {
		fs.Add(budgets, listOf(len(d.Budgets)), fmt.Sprintf("at most %d budgets", maxBudgets), nil)
	}
	for i := range d.Budgets {
		fs.budget(&d.Budgets[i], budgets.Item(i))
	}
}

// budget refuses what can never be evaluated (N18); what only never counts is for budgets.Lint.
func (fs rules) budget(b *api.DisruptionBudget, at *strict.Place) {
	if !budgetNodes.MatchString(b.Limit()) {
		fs.Add(at.Child("nodes"), strict.Quote(b.Limit()), `a number of nodes like "5", or a percentage from "0%" to "100%"`, nil)
	} else if _, err := strconv.ParseInt(strings.TrimSuffix(b.Limit(), "%"), 10, 32); err != nil {
		fs.Add(at.Child("nodes"), strict.Quote(b.Limit()), "at most 2147483647 nodes", nil)
	}
	if len(b.Reasons) > maxBudgetReasons {
		fs.Add(at.Child("reasons"), listOf(len(b.Reasons)), fmt.Sprintf("at most %d reasons", maxBudgetReasons), nil)
	}
	for i, r := range b.Reasons {
		fs.choice(r, at.Child("reasons").Item(i), api.DisruptionReasons...)
		if r == "" {
			fs.Add(at.Child("reasons").Item(i), "nothing", oneOf(api.DisruptionReasons), nil)
		}
	}
	switch {
	case b.Schedule == nil && b.Duration != nil:
		fs.Add(at.Child("schedule"), "nothing", "a schedule: duration counts from the moments it names", nil)
	case b.Schedule != nil && b.Duration == nil:
		fs.Add(at.Child("duration"), "nothing", "how long the budget counts each time, like 8h", nil)
	}
	fs.budgetWindow(b, at)
}

// budgetWindow checks when a budget counts.
func (fs rules) budgetWindow(b *api.DisruptionBudget, at *strict.Place) {
	if b.Schedule != nil {
		fs.schedule(*b.Schedule, at.Child("schedule"))
	}
	if d := b.Duration; d != nil && !budgetDuration.MatchString(*d) {
		fs.Add(at.Child("duration"), strict.Quote(*d), `hours and minutes, like "8h", "10m" or "5h30m"`, nil)
	}
	if b.TimeZone != "" {
		if !isZone(b.TimeZone) {
			fs.Add(at.Child("timeZone"), strict.Quote(b.TimeZone), expectedZone, nil)
		} else if b.Schedule == nil {
			fs.Add(at.Child("timeZone"), strict.Quote(b.TimeZone), "nothing without a schedule", nil)
		}
	}
}

func (fs rules) schedule(s string, at *strict.Place) {
	expected := "five cron fields (minute hour day-of-month month day-of-week, 0-6 for Sunday to Saturday) or one of " + strings.Join(api.CronMacros, ", ")
	switch _, err := api.ParseCron(s); {
	case err == nil:
	case errors.Is(err, api.ErrCronMacro):
		fs.Add(at, strict.Quote(s), expected, nil)
	case errors.Is(err, api.ErrCronZone):
		fs.Add(at, strict.Quote(s), "a schedule without a zone; put the zone in timeZone", nil)
	default:
		fs.Add(at, strict.Quote(s)+" ("+err.Error()+")", expected, sundayAsZero(s))
	}
}

// sundayAsZero is a schedule whose Sunday is 7, as some crons take it, with 0 in its place; nil when that does
// not make it one.
func sundayAsZero(s string) *strict.Node {
	rest, found := strings.CutSuffix(strings.TrimSpace(s), " 7")
	if !found {
		return nil
	}
	if _, err := api.ParseCron(rest + " 0"); err != nil {
		return nil
	}
	return strict.TextNode(rest + " 0")
}

// nodePoolNotes remarks on what is accepted and means less than it seems.
func nodePoolNotes(p *api.NodePool) []string {
	var notes []string
	t, d := p.Spec.Template.Spec, p.Spec.Disruption
	if d != nil && d.ExpireAfter != "" && t.ExpireAfter != "" && d.ExpireAfter != t.ExpireAfter {
		notes = append(notes, fmt.Sprintf("spec.template.spec.expireAfter %s goes before spec.disruption.expireAfter %s", t.ExpireAfter, d.ExpireAfter))
	}
	if d != nil && d.ConsolidationPolicy == api.WhenUnderutilized {
		notes = append(notes, "spec.disruption.consolidationPolicy: WhenUnderutilized is read as "+api.WhenEmptyOrUnderutilized)
	}
	return append(notes, budgets.Lint(p)...)
}

// NodePoolZones refuses time zones of a pool's budgets that nobody knows; known is asked for each name
// that validation has no fault to find with. A nil pool has none.
func NodePoolZones(p *api.NodePool, known func(name string) bool) strict.Faults {
	if p == nil || p.Spec.Disruption == nil {
		return nil
	}
	f := newRules()
	var root *strict.Place
	for i := range p.Spec.Disruption.Budgets {
		b := &p.Spec.Disruption.Budgets[i]
		if zone := b.TimeZone; b.Schedule != nil && isZone(zone) && !known(zone) {
			at := root.In("spec", "disruption", "budgets").Item(i).Child("timeZone")
			f.Add(at, strict.Quote(zone), expectedZone, nil)
		}
	}
	return f.Faults(api.KindNodePool + "/" + p.Name)
}

const expectedZone = `an IANA time zone, like "Europe/Berlin"`

// isZone reports a text in the form of a zone's name.
func isZone(text string) bool { return zoneForm.MatchString(text) && text != "Local" }

// FleetBudget reads the value of AnnotationFleetBudget, "name=5" or "name=10%" (N11).
func FleetBudget(annotation string) (name, nodes string, ok bool) {
	name, nodes, found := strings.Cut(annotation, "=")
	return name, nodes, found && name != "" && budgetNodes.MatchString(nodes)
}
