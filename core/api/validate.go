package api

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// maxNameLength of placements and members: records and messages carry their names.
const maxNameLength = 63

// Validate returns every rule that a placement breaks, defaulted or not: those of placement.md 2.1
// with the decisions D1-D22, and, when old is the stored placement, those about changing it.
func Validate(p, old *Placement) Faults {
	found := validatePlacement(p)
	if old != nil {
		found.also(*validateUpdate(p, old).findings)
	}
	return found.faults(refOf(p))
}

// ValidateUpdate returns the rules that changing old into p breaks. Give it p as the user wrote it,
// not defaulted: a policy that was left out is not a policy PickAll.
func ValidateUpdate(p, old *Placement) Faults {
	return validateUpdate(p, old).faults(refOf(p))
}

// ValidateMember returns every rule that a member breaks.
func ValidateMember(m *MemberCluster) Faults {
	return validateMember(m).faults(m.Kind + "/" + m.Name)
}

func refOf(p *Placement) string {
	return ObjectRef{Kind: p.Kind, Namespace: p.Namespace, Name: p.Name}.String()
}

// rules hold a document to what its kind demands, and collect what they find.
type rules struct{ *findings }

func newRules() rules { return rules{&findings{}} }

func (fs rules) also(more findings) rules {
	*fs.findings = append(*fs.findings, more...)
	return fs
}

func validatePlacement(p *Placement) rules {
	f := newRules()
	var root *place
	f.placementName(p, root.child("metadata"))
	f.labels(p.Labels, root.in("metadata", "labels"))
	f.annotations(p.Annotations, root.in("metadata", "annotations"))
	f.failover(p, root.in("metadata", "annotations"))
	f.progressDeadline(p, root.in("metadata", "annotations"))
	spec := root.child("spec")
	f.selectors(p, spec.child("resourceSelectors"))
	f.policy(p.Spec.Policy, spec.child("policy"))
	f.strategy(&p.Spec.Strategy, spec.child("strategy"))
	if n := p.Spec.RevisionHistoryLimit; n != nil && (*n < 1 || *n > 1000) {
		f.add(spec.child("revisionHistoryLimit"), number(*n), "a number from 1 to 1000", nil)
	}
	f.reportingScope(p, spec.child("statusReportingScope"))
	return f
}

func validateUpdate(p, old *Placement) rules {
	f := newRules()
	var root *place
	at := root.in("spec", "policy")
	if p.Spec.Policy == nil && !bare(old.Spec.Policy) {
		f.add(at, "nothing", "a policy of type "+string(old.Spec.Policy.Type())+": a policy that was set cannot be removed", nil)
	} else if was, is := old.Spec.Policy.Type(), p.Spec.Policy.Type(); was != is {
		f.add(at.child("placementType"), string(is), string(was)+": the type of a placement cannot change; delete it and make another", textNode(string(was)))
	}
	was, is := scopeOf(old), scopeOf(p)
	if was != is {
		f.add(root.in("spec", "statusReportingScope"), is, was+": it cannot change", textNode(was))
	}
	return f
}

// bare reports whether a policy is no more than the default of a policy that was left out.
func bare(p *Policy) bool {
	return p == nil || p.Type() == PickAll && p.Affinity == nil && len(p.Tolerations) == 0
}

func scopeOf(p *Placement) string {
	if p.Spec.StatusReportingScope == "" {
		return StatusScopeCluster
	}
	return p.Spec.StatusReportingScope
}

func (fs rules) placementName(p *Placement, at *place) {
	fs.subdomain(p.Name, at.child("name"))
	namespace := at.child("namespace")
	switch {
	case p.Kind == KindResourcePlacement && p.Namespace == "":
		fs.add(namespace, "nothing", "the namespace whose objects are placed", nil)
	case p.Kind == KindResourcePlacement:
		fs.dnsLabel(p.Namespace, namespace)
	case p.Namespace != "":
		fs.add(namespace, quote(p.Namespace), "nothing: a "+p.Kind+" lies in no namespace", nil)
	}
}

// subdomain holds a name to DNS-1123 and to the length that placements and members may have.
func (fs rules) subdomain(name string, at *place) {
	switch {
	case name == "":
		fs.add(at, "nothing", "a name", nil)
	case len(name) > maxNameLength:
		fs.add(at, quote(name), fmt.Sprintf("at most %d characters, not %d", maxNameLength, len(name)), nil)
	case len(validation.IsDNS1123Subdomain(name)) > 0:
		fs.add(at, quote(name), "lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit", lowered(name, validation.IsDNS1123Subdomain))
	}
}

func (fs rules) dnsLabel(name string, at *place) {
	switch {
	case name == "":
		fs.add(at, "nothing", "a name", nil)
	case len(name) > maxNameLength:
		fs.add(at, quote(name), fmt.Sprintf("at most %d characters, not %d", maxNameLength, len(name)), nil)
	case len(validation.IsDNS1123Label(name)) > 0:
		fs.add(at, quote(name), "lower-case letters, digits and '-', beginning and ending with a letter or digit", lowered(name, validation.IsDNS1123Label))
	}
}

// lowered proposes a name in lower case with dashes for underscores, when that is all it needs.
func lowered(name string, rule func(string) []string) *node {
	fixed := strings.ReplaceAll(strings.ToLower(name), "_", "-")
	if len(rule(fixed)) > 0 {
		return nil
	}
	return textNode(fixed)
}

func (fs rules) labels(labels map[string]string, at *place) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		fs.qualifiedName(key, at.child(key))
		fs.labelValue(labels[key], at.child(key))
	}
}

func (fs rules) qualifiedName(key string, at *place) {
	if key == "" {
		fs.add(at, "nothing", "a name, optionally with a DNS prefix and a slash before it", nil)
		return
	}
	if why := validation.IsQualifiedName(key); len(why) > 0 {
		fs.add(at, quote(key), "a name of at most 63 letters, digits, '-', '_' and '.', optionally with a DNS prefix and a slash before it", nil)
	}
}

func (fs rules) labelValue(value string, at *place) {
	if why := validation.IsValidLabelValue(value); len(why) > 0 {
		fs.add(at, quote(value), "at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit", nil)
	}
}

// annotations checks the keys, and what is in those that Flotilla reads.
func (fs rules) annotations(annotations map[string]string, at *place) {
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		fs.qualifiedName(strings.ToLower(key), at.child(key))
	}
	if v, ok := annotations[AnnotationAllowEvicted]; ok && v != "true" && v != "false" {
		var fix *node
		if b, err := strconv.ParseBool(strings.ToLower(v)); err == nil {
			fix = textNode(strconv.FormatBool(b))
		}
		fs.add(at.child(AnnotationAllowEvicted), quote(v), `"true" or "false"`, fix)
	}
}

// failover checks after how long a member is replaced, which only a PickN can do (D24).
func (fs rules) failover(p *Placement, at *place) {
	v, set := p.Annotations[AnnotationFailoverAfter]
	if !set {
		return
	}
	at = at.child(AnnotationFailoverAfter)
	switch p.Spec.Policy.Type() {
	case PickAll, PickFixed:
		fs.add(at, quote(v), "nothing: only a PickN picks another member in the place of one that is away, and placementType is "+
			string(p.Spec.Policy.Type()), nil)
		return
	}
	if d, err := time.ParseDuration(v); err != nil || d <= 0 {
		fs.add(at, quote(v), `a duration above zero, like "10m" or "1h30m"`, nil)
	}
}

// progressDeadline checks for how long no member of a rollout may advance (D26).
func (fs rules) progressDeadline(p *Placement, at *place) {
	v, set := p.Annotations[AnnotationProgressDeadline]
	if d, err := time.ParseDuration(v); set && (err != nil || d < 0) {
		fs.add(at.child(AnnotationProgressDeadline), quote(v), `a duration, like "10m" or "1h30m", or "0" for never`, nil)
	}
}

// annotationNotes remarks on annotations of our group that nothing reads on any kind, nor, those of read,
// on this one.
func annotationNotes(annotations map[string]string, read ...string) []string {
	return unreadAnnotations(annotations, append(read, AnnotationAllowEvicted, AnnotationAgentLabels, AnnotationOwner, AnnotationDigest)...)
}

// choice checks a field that takes one of a few words, "" standing for its default.
func (fs rules) choice(value string, at *place, words ...string) bool {
	if value == "" || slices.Contains(words, value) {
		return true
	}
	var fix *node
	if near := Nearest(value, words); near != "" {
		fix = textNode(near)
	}
	fs.add(at, quote(value), oneOf(words), fix)
	return false
}

// meant is the word that a value stands for: itself, or the one it was most likely meant to be; "" when
// that cannot be told. What depends on a misspelt word is judged by the word that was meant.
func meant(value string, words ...string) string {
	if slices.Contains(words, value) {
		return value
	}
	return Nearest(value, words)
}

// labelSelector checks that a selector can be parsed.
func (fs rules) labelSelector(s *metav1.LabelSelector, at *place) {
	if s == nil {
		return
	}
	fs.labels(s.MatchLabels, at.child("matchLabels"))
	for i, e := range s.MatchExpressions {
		fs.labelExpression(e, at.child("matchExpressions").item(i))
	}
}

func (fs rules) labelExpression(e metav1.LabelSelectorRequirement, at *place) {
	fs.qualifiedName(e.Key, at.child("key"))
	words := []string{"In", "NotIn", "Exists", "DoesNotExist"}
	if e.Operator == "" {
		fs.add(at.child("operator"), "nothing", oneOf(words), nil)
		return
	}
	fs.choice(string(e.Operator), at.child("operator"), words...)
	switch operator := meant(string(e.Operator), words...); operator {
	case "In", "NotIn":
		if len(e.Values) == 0 {
			fs.add(at.child("values"), "nothing", "at least one value for operator "+operator, nil)
		}
	case "Exists", "DoesNotExist":
		if len(e.Values) > 0 {
			fs.add(at.child("values"), fmt.Sprintf("a list of %d", len(e.Values)), "no values for operator "+operator, nil)
		}
	}
	for i, v := range e.Values {
		fs.labelValue(v, at.child("values").item(i))
	}
}

func oneOf(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

func number(n int32) string { return "number " + strconv.Itoa(int(n)) }
