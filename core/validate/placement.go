package validate

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"flotilla/core/api"
	"flotilla/core/strict"
)

// Placement returns every rule that a placement breaks, defaulted or not: KubeFleet's
// with ours (D1 to D33), and, when old is the stored placement, those about changing it.
func Placement(p, old *api.Placement) strict.Faults {
	found := validatePlacement(p)
	if old != nil {
		found.also(*validateUpdate(p, old).Findings)
	}
	return found.Faults(refOf(p))
}

// PlacementUpdate returns the rules that changing old into p breaks. Give it p as the user wrote it,
// not defaulted: a policy that was left out is not a policy PickAll.
func PlacementUpdate(p, old *api.Placement) strict.Faults {
	return validateUpdate(p, old).Faults(refOf(p))
}

// Member returns every rule that a member breaks.
func Member(m *api.MemberCluster) strict.Faults {
	return validateMember(m).Faults(m.Kind + "/" + m.Name)
}

func refOf(p *api.Placement) string {
	return api.ObjectRef{Kind: p.Kind, Namespace: p.Namespace, Name: p.Name}.String()
}

// rules hold a document to what its kind demands, and collect what they find.
type rules struct{ *strict.Findings }

func newRules() rules { return rules{&strict.Findings{}} }

func (fs rules) also(more strict.Findings) rules {
	*fs.Findings = append(*fs.Findings, more...)
	return fs
}

func placementRules(p *api.Placement) (rules, []string) {
	return validatePlacement(p), append(annotationNotes(p.Annotations, api.AnnotationFailoverAfter, api.AnnotationProgressDeadline, api.AnnotationPaused, api.AnnotationRolloutCheck), placementNotes(p)...)
}

func validatePlacement(p *api.Placement) rules {
	f := newRules()
	var root *strict.Place
	f.placementName(p, root.Child("metadata"))
	f.labels(p.Labels, root.In("metadata", "labels"))
	f.annotations(p.Annotations, root.In("metadata", "annotations"))
	f.failover(p, root.In("metadata", "annotations"))
	f.progressDeadline(p, root.In("metadata", "annotations"))
	f.namesCheck(p.Annotations, root.In("metadata", "annotations"))
	spec := root.Child("spec")
	f.selectors(p, spec.Child("resourceSelectors"))
	f.policy(p.Spec.Policy, spec.Child("policy"))
	f.strategy(&p.Spec.Strategy, spec.Child("strategy"))
	if n := p.Spec.RevisionHistoryLimit; n != nil && (*n < 1 || *n > 1000) {
		f.Add(spec.Child("revisionHistoryLimit"), number(*n), "a number from 1 to 1000", nil)
	}
	f.reportingScope(p, spec.Child("statusReportingScope"))
	return f
}

func validateUpdate(p, old *api.Placement) rules {
	f := newRules()
	var root *strict.Place
	at := root.In("spec", "policy")
	if p.Spec.Policy == nil && !bare(old.Spec.Policy) {
		f.Add(at, "nothing", "a policy of type "+string(old.Spec.Policy.Type())+": a policy that was set cannot be removed", nil)
	} else if was, is := old.Spec.Policy.Type(), p.Spec.Policy.Type(); was != is {
		f.Add(at.Child("placementType"), string(is), string(was)+": the type of a placement cannot change; delete it and make another", strict.TextNode(string(was)))
	}
	if old.Spec.Strategy.Type == api.StrategyExternal && p.Spec.Strategy.Type != api.StrategyExternal {
		f.Add(root.In("spec", "strategy", "type"), shown(p.Spec.Strategy.Type), "External: members hold what staged runs gave them; delete the placement and make another", strict.TextNode(api.StrategyExternal))
	}
	was, is := scopeOf(old), scopeOf(p)
	if was != is {
		f.Add(root.In("spec", "statusReportingScope"), is, was+": it cannot change", strict.TextNode(was))
	}
	return f
}

// bare reports whether a policy is no more than the default of a policy that was left out.
func bare(p *api.Policy) bool {
	return p == nil || p.Type() == api.PickAll && p.Affinity == nil && len(p.Tolerations) == 0
}

func scopeOf(p *api.Placement) string {
	if p.Spec.StatusReportingScope == "" {
		return api.StatusScopeCluster
	}
	return p.Spec.StatusReportingScope
}

func (fs rules) placementName(p *api.Placement, at *strict.Place) {
	fs.Subdomain(p.Name, at.Child("name"))
	namespace := at.Child("namespace")
	switch {
	case p.Kind == api.KindResourcePlacement && p.Namespace == "":
		fs.Add(namespace, "nothing", "the namespace whose objects are placed", nil)
	case p.Kind == api.KindResourcePlacement:
		fs.Label(p.Namespace, namespace)
	case p.Namespace != "":
		fs.Add(namespace, strict.Quote(p.Namespace), "nothing: a "+p.Kind+" lies in no namespace", nil)
	}
}

func (fs rules) labels(labels map[string]string, at *strict.Place) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		fs.qualifiedName(key, at.Child(key))
		fs.labelValue(labels[key], at.Child(key))
	}
}

func (fs rules) qualifiedName(key string, at *strict.Place) {
	if key == "" {
		fs.Add(at, "nothing", "a name, optionally with a DNS prefix and a slash before it", nil)
		return
	}
	if why := validation.IsQualifiedName(key); len(why) > 0 {
		fs.Add(at, strict.Quote(key), "a name of at most 63 letters, digits, '-', '_' and '.', optionally with a DNS prefix and a slash before it", nil)
	}
}

func (fs rules) labelValue(value string, at *strict.Place) {
	if why := validation.IsValidLabelValue(value); len(why) > 0 {
		fs.Add(at, strict.Quote(value), "at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit", nil)
	}
}

// annotations checks the keys, and what is in those that Flotilla reads.
func (fs rules) annotations(annotations map[string]string, at *strict.Place) {
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		fs.qualifiedName(strings.ToLower(key), at.Child(key))
	}
	if v, ok := annotations[api.AnnotationAllowEvicted]; ok && v != "true" && v != "false" {
		var fix *strict.Node
		if b, err := strconv.ParseBool(strings.ToLower(v)); err == nil {
			fix = strict.TextNode(strconv.FormatBool(b))
		}
		fs.Add(at.Child(api.AnnotationAllowEvicted), strict.Quote(v), `"true" or "false"`, fix)
	}
}

// failover checks after how long a member is replaced, which only a PickN can do (D24).
func (fs rules) failover(p *api.Placement, at *strict.Place) {
	v, set := p.Annotations[api.AnnotationFailoverAfter]
	if !set {
		return
	}
	at = at.Child(api.AnnotationFailoverAfter)
	switch p.Spec.Policy.Type() {
	case api.PickAll, api.PickFixed:
		fs.Add(at, strict.Quote(v), "nothing: only a PickN picks another member in the place of one that is away, and placementType is "+
			string(p.Spec.Policy.Type()), nil)
		return
	}
	if d, err := time.ParseDuration(v); err != nil || d <= 0 {
		fs.Add(at, strict.Quote(v), `a duration above zero, like "10m" or "1h30m"`, nil)
	}
}

// progressDeadline checks for how long no member of a rollout may advance (D26).
func (fs rules) progressDeadline(p *api.Placement, at *strict.Place) {
	v, set := p.Annotations[api.AnnotationProgressDeadline]
	if d, err := time.ParseDuration(v); set && (err != nil || d < 0) {
		fs.Add(at.Child(api.AnnotationProgressDeadline), strict.Quote(v), `a duration, like "10m" or "1h30m", or "0" for never`, nil)
	}
}

// annotationNotes remarks on annotations of our group that nothing reads on any kind, nor, those of read,
// on this one.
func annotationNotes(annotations map[string]string, read ...string) []string {
	return unreadAnnotations(annotations, append(read, api.AnnotationAllowEvicted, api.AnnotationAgentLabels, api.AnnotationOwner, api.AnnotationDigest)...)
}

// choice checks a field that takes one of a few words, "" standing for its default.
func (fs rules) choice(value string, at *strict.Place, words ...string) bool {
	if value == "" || slices.Contains(words, value) {
		return true
	}
	var fix *strict.Node
	if near := strict.Nearest(value, words); near != "" {
		fix = strict.TextNode(near)
	}
	fs.Add(at, strict.Quote(value), oneOf(words), fix)
	return false
}

func oneOf(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

func number(n int32) string { return "number " + strconv.Itoa(int(n)) }
