package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"

	"flotilla/core/api"
	"flotilla/core/strict"
)

// member reads a member. Its status is read loosely, for offline plans: another system wrote it.
func (r *reading) member() {
	status := r.tree.Get("status")
	reads(func(m *api.MemberCluster) (rules, []string) {
		if status != nil && status.Shape == strict.ShapeMap {
			m.Status = &api.MemberClusterStatus{}
			w := strict.Decoder{Loose: true}
			w.Decode(status, m.Status, strict.At("status"))
			r.findings = append(r.findings, w.Findings...)
			r.tree.Set("status", status)
		}
		return validateMember(m), append(annotationNotes(m.Annotations), memberNotes(&m.Spec)...)
	})(r)
}

func validateMember(m *api.MemberCluster) rules {
	f := newRules()
	meta := (*strict.Place)(nil).Child("metadata")
	f.Label(m.Name, meta.Child("name"))
	if m.Namespace != "" {
		f.Add(meta.Child("namespace"), strict.Quote(m.Namespace), "nothing: a MemberCluster lies in no namespace", nil)
	}
	f.labels(m.Labels, meta.Child("labels"))
	if name, ok := m.Labels[api.LabelMemberName]; ok && name != m.Name {
		f.Add(meta.In("labels", api.LabelMemberName), strict.Quote(name), "the member's own name, "+strict.Quote(m.Name), strict.TextNode(m.Name))
	}
	f.annotations(m.Annotations, meta.Child("annotations"))
	f.agentLabels(m.Annotations, meta.In("annotations", api.AnnotationAgentLabels))
	f.memberSpec(&m.Spec, (*strict.Place)(nil).Child("spec"))
	return f
}

func (fs rules) memberSpec(s *api.MemberClusterSpec, at *strict.Place) {
	if n := s.HeartbeatPeriodSeconds; n < 0 || n > 600 {
		fs.Add(at.Child("heartbeatPeriodSeconds"), number(n), "a number from 1 to 600", nil)
	}
	fs.taints(s.Taints, at.Child("taints"))
	if o := s.DeleteOptions; o != nil {
		at := at.Child("deleteOptions")
		fs.choice(o.ValidationMode, at.Child("validationMode"), api.ValidationStrict, api.ValidationSkip)
		fs.choice(o.WhenLeaving, at.Child("whenLeaving"), api.WhenLeavingRetain, api.WhenLeavingDelete)
	}
}

// memberNotes remarks on settings of KubeFleet that are accepted and that nothing here reads.
func memberNotes(s *api.MemberClusterSpec) []string {
	var notes []string
	if n := s.HeartbeatPeriodSeconds; n != 0 && n != api.DefaultHeartbeat {
		notes = append(notes, "spec.heartbeatPeriodSeconds is not used: how often an agent beats is set where it runs, with heartbeatInterval in its configuration")
	}
	if s.Identity != nil {
		notes = append(notes, "spec.identity is not used: an agent is known by the key that it enrolled with")
	}
	if o := s.DeleteOptions; o != nil && o.ValidationMode != "" && o.ValidationMode != api.ValidationStrict {
		notes = append(notes, "spec.deleteOptions.validationMode is not used: what a leaving member holds is set by whenLeaving")
	}
	return notes
}

func (fs rules) taints(taints []api.Taint, at *strict.Place) {
	if len(taints) > maxTaints {
		fs.Add(at, listOf(len(taints)), fmt.Sprintf("at most %d taints", maxTaints), nil)
		return
	}
	for i, t := range taints {
		at := at.Item(i)
		fs.qualifiedName(t.Key, at.Child("key"))
		fs.labelValue(t.Value, at.Child("value"))
		if t.Effect == "" {
			fs.Add(at.Child("effect"), "nothing", api.EffectNoSchedule, strict.TextNode(api.EffectNoSchedule))
		}
		fs.choice(t.Effect, at.Child("effect"), api.EffectNoSchedule)
		if j := slices.Index(taints, t); j < i {
			fs.Add(at, fmt.Sprintf("the same taint as item %d", j), "each taint once", nil)
		}
	}
}

// agentLabels checks the list of label keys that the member's agent may set.
func (fs rules) agentLabels(annotations map[string]string, at *strict.Place) {
	list, ok := annotations[api.AnnotationAgentLabels]
	if !ok || strings.TrimSpace(list) == "" {
		return
	}
	for key := range strings.SplitSeq(list, ",") {
		key = strings.TrimSpace(key)
		prefix, all := strings.CutSuffix(key, "/*")
		switch {
		case key == "*", all && len(validation.IsDNS1123Subdomain(prefix)) == 0:
		case len(validation.IsQualifiedName(key)) > 0:
			fs.Add(at, strict.Quote(key), `label keys separated by commas, "prefix/*" for all keys of a prefix, or "*"`, nil)
		}
	}
}

// labelNamed are the core kinds whose names are DNS labels.
var labelNamed = []string{"Namespace", "Service"}

// validateContent checks the names of a document of a kind that Flotilla gives no meaning to.
func validateContent(o api.ObjectRef, meta *contentMeta) rules {
	f := newRules()
	at := (*strict.Place)(nil).Child("metadata")
	if meta.GenerateName != "" {
		f.Add(at.Child("generateName"), strict.Quote(meta.GenerateName), "a fixed name in metadata.name: members could not tell generated ones apart", nil)
	}
	f.contentName(o, meta.Name, at.Child("name"))
	if meta.Namespace != "" {
		f.Label(meta.Namespace, at.Child("namespace"))
	}
	f.labels(meta.Labels, at.Child("labels"))
	for _, key := range slices.Sorted(maps.Keys(meta.Annotations)) {
		f.qualifiedName(strings.ToLower(key), at.In("annotations", key))
	}
	return f
}

func (fs rules) contentName(o api.ObjectRef, name string, at *strict.Place) {
	group, _ := api.SplitAPIVersion(o.APIVersion)
	switch {
	case name == "":
		fs.Add(at, "nothing", "a name", nil)
	case group == "" && slices.Contains(labelNamed, o.Kind):
		fs.Label(name, at)
	case strings.HasSuffix(group, ".k8s.io"):
		if why := content.IsPathSegmentName(name); len(why) > 0 || !api.Printable(name) || len(name) > validation.DNS1123SubdomainMaxLength {
			fs.Add(at, strict.Quote(name), "a name of printable characters without '/' and '%', of at most 253 bytes, and not '.' or '..'", nil)
		}
	case len(validation.IsDNS1123Subdomain(name)) > 0:
		fs.Add(at, strict.Quote(name), "at most 253 lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit", strict.Lowered(name, validation.IsDNS1123Subdomain))
	}
}
