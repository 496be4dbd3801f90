package liveness

import (
	"maps"
	"strings"

	"flotilla/core/api"
)

// Labels merges what an agent offers with what the user wrote: offered labels count where the
// annotation flotilla.io/agent-labels of the MemberCluster allows their key, the user's win, and the
// member's own name is always among them. Refused are the offered ones whose key is not allowed, nil
// when there is none. Without a spec nothing is allowed. What is no label key is neither.
func Labels(name string, spec *api.MemberCluster, offered map[string]string) (effective, refused map[string]string) {
	effective = map[string]string{}
	allowed := allowedKeys(spec)
	for key, value := range offered {
		switch {
		case key == api.LabelMemberName, !isLabelKey(key):
		case api.AllowsLabel(allowed, key):
			effective[key] = value
		default:
			if refused == nil {
				refused = map[string]string{}
			}
			refused[key] = value
		}
	}
	if spec != nil {
		maps.Copy(effective, spec.Labels)
	}
	effective[api.LabelMemberName] = name
	return effective, refused
}

func allowedKeys(spec *api.MemberCluster) []string {
	if spec == nil {
		return nil
	}
	return strings.Split(spec.Annotations[api.AnnotationAgentLabels], ",")
}

// Properties maps every property to its canonical name (D13). Where an agent sends both spellings,
// the canonical one counts.
func Properties(offered map[string]string) map[string]string {
	if offered == nil {
		return nil
	}
	out := make(map[string]string, len(offered))
	for name, value := range offered {
		canonical := api.CanonicalProperty(name)
		if _, both := offered[canonical]; both && canonical != name {
			continue
		}
		out[canonical] = value
	}
	return out
}
