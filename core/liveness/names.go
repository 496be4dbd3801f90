package liveness

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"flotilla/core/api"
	"flotilla/core/validate"
)

// ReasonMisnamed is of names in a heartbeat that are none.
const ReasonMisnamed = "NameInvalid"

// mostLetters is how much of such a name is shown.
const mostLetters = 60

// isLabelKey reports whether a key that an agent offers may be one. An agent offers data: where allowed keys are
// written, "*" would be a pattern, and "a,b" would be two keys.
func isLabelKey(key string) bool { return len(validation.IsQualifiedName(key)) == 0 }

func isProperty(name string) bool {
	return len(validate.Properties("properties", map[string]string{name: ""})) == 0
}

func isNamespace(name string) bool { return len(validation.IsDNS1123Label(name)) == 0 }

// isPlacement takes "name" and "namespace/name".
func isPlacement(name string) bool {
	namespace, rest, within := strings.Cut(name, "/")
	return len(validation.IsDNS1123Subdomain(namespace)) == 0 && (!within || len(validation.IsDNS1123Subdomain(rest)) == 0)
}

// Allowable are those of the keys that an agent offers that may be allowed: the label keys among them. The note names
// the others, and is empty when there are none.
func Allowable(offered []string) (keys []string, note string) {
	var left []string
	for _, key := range offered {
		if isLabelKey(key) {
			keys = append(keys, key)
		} else {
			left = append(left, quoted("", key))
		}
	}
	if len(left) > 0 {
		note = "of what its agent offers this is not allowed, because it is no label key: " + enumerated(left)
	}
	return keys, note
}

// named is a heartbeat without what it holds under names that are none, and those names with their kinds, sorted, of
// many the first.
func named(h *api.Heartbeat) (out api.Heartbeat, left []string) {
	wrong := func(kind, name string, valid func(string) bool) bool {
		if valid(name) {
			return false
		}
		left = append(left, quoted(kind+" ", name))
		return true
	}
	out = *h
	out.Labels, out.Properties = maps.Clone(h.Labels), maps.Clone(h.Properties)
	maps.DeleteFunc(out.Labels, func(key, _ string) bool { return wrong("label", key, isLabelKey) })
	maps.DeleteFunc(out.Properties, func(name, _ string) bool { return wrong("property", name, isProperty) })
	out.Namespaces = slices.DeleteFunc(slices.Clone(h.Namespaces), func(name string) bool { return wrong("namespace", name, isNamespace) })
	out.Unlisted = slices.DeleteFunc(slices.Clone(h.Unlisted), func(name string) bool { return wrong("placement", name, isPlacement) })
	slices.Sort(left)
	return out, slices.Clip(left[:min(len(left), mostNamed+1)])
}

// misnamed warns once while a heartbeat holds such names, whichever they are.
func (in *Input) misnamed(r *api.MemberRecord) []api.Audit {
	if len(r.Misnamed) == 0 || in.Previous != nil && len(in.Previous.Misnamed) > 0 {
		return nil
	}
	return []api.Audit{in.audit("Warning", ReasonMisnamed, "its agent offers what cannot be named so, which is left out: "+enumerated(r.Misnamed)+
		"; expected names of letters, digits, '-', '_' and '.', optionally with a DNS prefix and a slash before them: correct the configuration of the agent")}
}

func quoted(kind, name string) string { return kind + fmt.Sprintf("%.*q", mostLetters, name) }

// enumerated is the beginning of a list.
func enumerated(names []string) string {
	text := strings.Join(names[:min(len(names), mostNamed)], ", ")
	if len(names) > mostNamed {
		text += ", and more"
	}
	return text
}
