package api

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"
)

func validateMember(m *MemberCluster) rules {
	f := newRules()
	meta := (*place)(nil).child("metadata")
	f.dnsLabel(m.Name, meta.child("name"))
	if m.Namespace != "" {
		f.add(meta.child("namespace"), quote(m.Namespace), "nothing: a MemberCluster lies in no namespace", nil)
	}
	f.labels(m.Labels, meta.child("labels"))
	if name, ok := m.Labels[LabelMemberName]; ok && name != m.Name {
		f.add(meta.in("labels", LabelMemberName), quote(name), "the member's own name, "+quote(m.Name), textNode(m.Name))
	}
	f.annotations(m.Annotations, meta.child("annotations"))
	f.agentLabels(m.Annotations, meta.in("annotations", AnnotationAgentLabels))
	f.memberSpec(&m.Spec, (*place)(nil).child("spec"))
	return f
}

func (fs rules) memberSpec(s *MemberClusterSpec, at *place) {
	if n := s.HeartbeatPeriodSeconds; n < 0 || n > 600 {
		fs.add(at.child("heartbeatPeriodSeconds"), number(n), "a number from 1 to 600", nil)
	}
	fs.taints(s.Taints, at.child("taints"))
	if o := s.DeleteOptions; o != nil {
		at := at.child("deleteOptions")
		fs.choice(o.ValidationMode, at.child("validationMode"), ValidationStrict, ValidationSkip)
		fs.choice(o.WhenLeaving, at.child("whenLeaving"), WhenLeavingRetain, WhenLeavingDelete)
	}
}

// memberNotes remarks on settings of KubeFleet that are accepted and that nothing here reads.
func memberNotes(s *MemberClusterSpec) []string {
	var notes []string
	if n := s.HeartbeatPeriodSeconds; n != 0 && n != DefaultHeartbeat {
		notes = append(notes, "spec.heartbeatPeriodSeconds is not used: how often an agent beats is set where it runs, with heartbeatInterval in its configuration")
	}
	if s.Identity != nil {
		notes = append(notes, "spec.identity is not used: an agent is known by the key that it enrolled with")
	}
	if o := s.DeleteOptions; o != nil && o.ValidationMode != "" && o.ValidationMode != ValidationStrict {
		notes = append(notes, "spec.deleteOptions.validationMode is not used: what a leaving member holds is set by whenLeaving")
	}
	return notes
}

func (fs rules) taints(taints []Taint, at *place) {
	if len(taints) > maxTaints {
		fs.add(at, listOf(len(taints)), fmt.Sprintf("at most %d taints", maxTaints), nil)
		return
	}
	for i, t := range taints {
		at := at.item(i)
		fs.qualifiedName(t.Key, at.child("key"))
		fs.labelValue(t.Value, at.child("value"))
		if t.Effect == "" {
			fs.add(at.child("effect"), "nothing", EffectNoSchedule, textNode(EffectNoSchedule))
		}
		fs.choice(t.Effect, at.child("effect"), EffectNoSchedule)
		if j := slices.Index(taints, t); j < i {
			fs.add(at, fmt.Sprintf("the same taint as item %d", j), "each taint once", nil)
		}
	}
}

// agentLabels checks the list of label keys that the member's agent may set.
func (fs rules) agentLabels(annotations map[string]string, at *place) {
	list, ok := annotations[AnnotationAgentLabels]
	if !ok || strings.TrimSpace(list) == "" {
		return
	}
	for key := range strings.SplitSeq(list, ",") {
		key = strings.TrimSpace(key)
		prefix, all := strings.CutSuffix(key, "/*")
		switch {
		case key == "*", all && len(validation.IsDNS1123Subdomain(prefix)) == 0:
		case len(validation.IsQualifiedName(key)) > 0:
			fs.add(at, quote(key), `label keys separated by commas, "prefix/*" for all keys of a prefix, or "*"`, nil)
		}
	}
}

// labelNamed are the core kinds whose names are DNS labels.
var labelNamed = []string{"Namespace", "Service"}

// validateContent checks the names of a document of a kind that Flotilla gives no meaning to.
func validateContent(o ObjectRef, meta *contentMeta) rules {
	f := newRules()
	at := (*place)(nil).child("metadata")
	if meta.GenerateName != "" {
		f.add(at.child("generateName"), quote(meta.GenerateName), "a fixed name in metadata.name: members could not tell generated ones apart", nil)
	}
	f.contentName(o, meta.Name, at.child("name"))
	if meta.Namespace != "" {
		f.dnsLabel(meta.Namespace, at.child("namespace"))
	}
	f.labels(meta.Labels, at.child("labels"))
	for _, key := range slices.Sorted(maps.Keys(meta.Annotations)) {
		f.qualifiedName(strings.ToLower(key), at.in("annotations", key))
	}
	return f
}

func (fs rules) contentName(o ObjectRef, name string, at *place) {
	group, _ := splitAPIVersion(o.APIVersion)
	switch {
	case name == "":
		fs.add(at, "nothing", "a name", nil)
	case group == "" && slices.Contains(labelNamed, o.Kind):
		fs.dnsLabel(name, at)
	case strings.HasSuffix(group, ".k8s.io"):
		if why := content.IsPathSegmentName(name); len(why) > 0 || !Printable(name) {
			fs.add(at, quote(name), "a name of printable characters without '/' and '%', and not '.' or '..'", nil)
		}
	case len(validation.IsDNS1123Subdomain(name)) > 0:
		fs.add(at, quote(name), "at most 253 lower-case letters, digits, '-' and '.', beginning and ending with a letter or digit", lowered(name, validation.IsDNS1123Subdomain))
	}
}
