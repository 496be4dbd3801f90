package validate

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/strict"
)

func clusterOverrideRules(o *api.ClusterResourceOverride) (rules, []string) {
	f := outsideRules(api.KindClusterResourceOverride, o)
	f.Subdomain(o.Name, strict.At("metadata.name"))
	spec := strict.At("spec")
	f.overridePlacement(o.Spec.Placement.Any(), false, spec.Child("placement"))
	f.overrideSelectors(o.Spec.ClusterResourceSelectors, false, spec.Child("clusterResourceSelectors"))
	f.overridePolicy(&o.Spec.Policy, spec.In("policy", "overrideRules"))
	return f, annotationNotes(o.Annotations)
}

func overrideRules(o *api.ResourceOverride) (rules, []string) {
	f, spec := newRules(), strict.At("spec")
	f.overrideMeta(o, strict.At("metadata"))
	f.overridePlacement(o.Spec.Placement, true, spec.Child("placement"))
	f.overrideSelectors(o.Spec.ResourceSelectors, true, spec.Child("resourceSelectors"))
	f.overridePolicy(&o.Spec.Policy, spec.In("policy", "overrideRules"))
	return f, annotationNotes(o.Annotations)
}

func (fs rules) overrideMeta(meta metav1.Object, at *strict.Place) {
	fs.Subdomain(meta.GetName(), at.Child("name"))
	if meta.GetNamespace() == "" {
		fs.Add(at.Child("namespace"), "nothing", "the namespace of the objects that are changed", nil)
	} else {
		fs.Label(meta.GetNamespace(), at.Child("namespace"))
	}
	fs.labels(meta.GetLabels(), at.Child("labels"))
	fs.annotations(meta.GetAnnotations(), at.Child("annotations"))
}

func (fs rules) overridePlacement(p *api.OverridePlacement, namespaced bool, at *strict.Place) {
	if p == nil {
		return
	}
	fs.Subdomain(p.Name, at.Child("name"))
	switch scope := at.Child("scope"); {
	case !fs.choice(p.Scope, scope, api.OverrideScopeCluster, api.OverrideScopeNamespaced):
	case p.Scope == api.OverrideScopeNamespaced && !namespaced:
		fs.Add(scope, strict.Quote(p.Scope), api.OverrideScopeCluster+": a ResourcePlacement selects nothing that a ClusterResourceOverride names; use a ResourceOverride",
			strict.TextNode(api.OverrideScopeCluster))
	}
}

func (fs rules) overrideSelectors(all []api.OverrideSelector, namespaced bool, at *strict.Place) {
	fs.between(len(all), api.MaxOverrideSelectors, "objects by name", at)
	for i := range all[:min(len(all), api.MaxOverrideSelectors)] {
		s, at := &all[i], at.Item(i)
		for _, field := range [][2]string{{"version", s.Version}, {"kind", s.Kind}, {"name", s.Name}} {
			if field[1] == "" {
				fs.Add(at.Child(field[0]), "nothing", "the "+field[0]+" of the object: objects are named one by one", nil)
			}
		}
		fs.overriddenKind(s, namespaced, at.Child("kind"))
		if j := slices.IndexFunc(all[:i], s.Same); j >= 0 {
			fs.Add(at, s.String()+" again", "each object once", nil)
		}
	}
}

// overriddenKind holds a kind to where it lies: kinds that Kubernetes does not bring itself may lie anywhere.
func (fs rules) overriddenKind(s *api.OverrideSelector, namespaced bool, at *strict.Place) {
	inside, known := api.KindNamespaced(s.Group, s.Kind)
	switch {
	case !known || inside == namespaced:
	case namespaced:
		fs.Add(at, strict.Quote(s.Kind), "a kind that lies in namespaces; a ClusterResourceOverride changes the others", nil)
	default:
		fs.Add(at, strict.Quote(s.Kind), "a kind outside namespaces; name the Namespace to change all that lies in it, or use a ResourceOverride", nil)
	}
}

// between holds the length of a list to 1 and what it is at most.
func (fs rules) between(n, most int, what string, at *strict.Place) {
	switch {
	case n == 0:
		fs.Add(at, "nothing", fmt.Sprintf("1 to %d %s", most, what), nil)
	case n > most:
		fs.Add(at, listOf(n), fmt.Sprintf("at most %d %s", most, what), nil)
	}
}

func (fs rules) overridePolicy(p *api.OverridePolicy, at *strict.Place) {
	fs.between(len(p.OverrideRules), api.MaxOverrideRules, "rules", at)
	values := 0
	for i := range p.OverrideRules[:min(len(p.OverrideRules), api.MaxOverrideRules)] {
		fs.overrideRule(&p.OverrideRules[i], at.Item(i))
		values += patchValues(&p.OverrideRules[i])
	}
	if values > api.MaxOverrideValues {
		fs.Add(at, fmt.Sprintf("patches with %d values", values),
			fmt.Sprintf("at most %d values in all patches, each item of a list and each field of a map being one; put what is the same for all members into the object itself", api.MaxOverrideValues), nil)
	}
}

// patchValues is how many values the patches of a rule have.
func patchValues(r *api.OverrideRule) (values int) {
	for i := range r.JSONPatchOverrides {
		if given := r.JSONPatchOverrides[i].Value; given != nil {
			values += valuesIn(given.Raw)
		}
	}
	return values
}

// valuesIn is how many values a JSON text has, with those in lists and maps.
func valuesIn(text []byte) int {
	values, opened := 1, false // opened: a list or a map has begun, and nothing of it has come
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case ']', '}':
			opened = false
			continue
		case ',':
			values++
		case '"':
			i = endOfText(text, i)
		}
		if opened {
			values++
		}
		opened = c == '[' || c == '{'
	}
	return values
}

// endOfText is where a text ends that begins at i.
func endOfText(text []byte, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}

func (fs rules) overrideRule(r *api.OverrideRule, at *strict.Place) {
	if r.ClusterSelector != nil {
		fs.overrideTerms(r.ClusterSelector.ClusterSelectorTerms, at.In("clusterSelector", "clusterSelectorTerms"))
	}
	patches := at.Child("jsonPatchOverrides")
	switch word := r.OverrideType; {
	case !fs.choice(word, at.Child("overrideType"), api.OverrideJSONPatch, api.OverrideDelete):
		return
	case r.Deletes() && len(r.JSONPatchOverrides) > 0:
		fs.Add(patches, listOf(len(r.JSONPatchOverrides)), "nothing: a rule of type "+api.OverrideDelete+" leaves the objects out", nil)
		return
	case r.Deletes():
		return
	}
	fs.between(len(r.JSONPatchOverrides), api.MaxOverridePatches, "patches", patches)
	for i := range r.JSONPatchOverrides[:min(len(r.JSONPatchOverrides), api.MaxOverridePatches)] {
		fs.overridePatch(&r.JSONPatchOverrides[i], patches.Item(i))
	}
}

func (fs rules) overrideTerms(terms []api.ClusterSelectorTerm, at *strict.Place) {
	if len(terms) > maxSelectorTerms {
		fs.Add(at, listOf(len(terms)), fmt.Sprintf("at most %d terms", maxSelectorTerms), nil)
	}
	for i := range terms {
		term, at := &terms[i], at.Item(i)
		if term.LabelSelector == nil {
			fs.Add(at.Child("labelSelector"), "nothing", "a label selector; without terms a rule matches all members", nil)
		}
		fs.labelSelector(term.LabelSelector, at.Child("labelSelector"))
		for name, given := range map[string]bool{
			"propertySelector": term.PropertySelector != nil, "propertySorter": term.PropertySorter != nil, "metricSorter": term.MetricSorter != nil,
		} {
			if given {
				fs.Add(at.Child(name), "a map", "nothing: overrides select members by labels alone", nil)
			}
		}
	}
}

func (fs rules) overridePatch(p *api.JSONPatchOverride, at *strict.Place) {
	value := at.Child("value")
	switch {
	case p.Op == "":
		fs.Add(at.Child("op"), "nothing", oneOf(patchOps), nil)
	case !fs.choice(p.Op, at.Child("op"), patchOps...):
	case p.Op == api.PatchRemove && p.Value != nil:
		fs.Add(value, "a value", "nothing: operation remove takes none", nil)
	case p.Op != api.PatchRemove && p.Value == nil:
		fs.Add(value, "nothing", "the value for operation "+p.Op, nil)
	}
	if expected := PatchPath(p.Path); expected != "" {
		fs.Add(at.Child("path"), strict.Shown(p.Path), expected, nil)
	}
	if p.Value != nil {
		fs.overrideVariables(string(p.Value.Raw), value)
	}
}

var patchOps = []string{api.PatchAdd, api.PatchRemove, api.PatchReplace}

// overrideVariables refuses variables that do not end, and those of no label.
func (fs rules) overrideVariables(text string, at *strict.Place) {
	for _, rest := range strings.Split(text, api.VariableLabel)[1:] {
		key, _, ends := strings.Cut(rest, api.VariableEnd)
		switch {
		case !ends || strings.ContainsRune(key, '"'):
			fs.Add(at, "a variable "+api.VariableLabel+"… without an end", api.VariableLabel+"<key>"+api.VariableEnd, nil)
		default:
			fs.qualifiedName(key, at)
		}
	}
}

// unpatchable says where patches may not write, and why.
var unpatchable = map[string]string{
	"kind": "what an object is stays", "apiVersion": "what an object is stays", "status": "the member says what becomes of an object",
}

// PatchPath says what is expected of the path of a patch, empty when it is one that overrides may change.
func PatchPath(path string) string {
	if !strings.HasPrefix(path, "/") {
		return `a JSON pointer, like "/spec/replicas"`
	}
	parts := strings.Split(path[1:], "/")
	if slices.Contains(parts, "") {
		return `a JSON pointer without empty parts, like "/spec/replicas"`
	}
	for _, part := range parts {
		if rest := strings.NewReplacer("~0", "", "~1", "").Replace(part); strings.Contains(rest, "~") {
			return `a JSON pointer, in which "~" is written "~0" and "/" in a name "~1"`
		}
	}
	if why, never := unpatchable[parts[0]]; never {
		return "a path outside /" + parts[0] + ": " + why
	}
	if parts[0] == "metadata" && (len(parts) == 1 || parts[1] != "labels" && parts[1] != "annotations") {
		return "of metadata, a path in /metadata/labels or /metadata/annotations: which object it is stays"
	}
	return ""
}

// overridePlacementChange refuses to change which placement an override is for.
func overridePlacementChange(is, was *api.OverridePlacement, object string) strict.Faults {
	if placementText(is) == placementText(was) {
		return nil
	}
	f := newRules()
	f.Add(strict.At("spec.placement"), placementText(is), placementText(was)+": it cannot change; delete the override and make another", nil)
	return f.Faults(object)
}

func placementText(p *api.OverridePlacement) string {
	switch {
	case p == nil:
		return "nothing"
	case p.Scope == api.OverrideScopeNamespaced:
		return "the ResourcePlacement " + p.Name
	}
	return "the ClusterResourcePlacement " + p.Name
}

func clusterOverrideChange(is, was *api.ClusterResourceOverride) strict.Faults {
	return overridePlacementChange(is.Spec.Placement.Any(), was.Spec.Placement.Any(), api.KindClusterResourceOverride+"/"+is.Name)
}

func overrideChange(is, was *api.ResourceOverride) strict.Faults {
	return overridePlacementChange(is.Spec.Placement, was.Spec.Placement, api.KindResourceOverride+"/"+is.Namespace+"/"+is.Name)
}

// defaultOverride fills in what an override leaves out.
func defaultOverride(placement *api.OverridePlacement, p *api.OverridePolicy) {
	if placement != nil {
		defaultString(&placement.Scope, api.OverrideScopeCluster)
	}
	for i := range p.OverrideRules {
		defaultString(&p.OverrideRules[i].OverrideType, api.OverrideJSONPatch)
	}
}
