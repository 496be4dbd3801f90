package liveness

import (
	"slices"
	"strings"

	"flotilla/core/api"
)

// ReasonForbidden is of what a member's API server does not permit its agent.
const ReasonForbidden = "PermissionMissing"

// missingPermissions warns of those that were not known to be missing.
func (in *Input) missingPermissions(r *api.MemberRecord) []api.Audit {
	var fresh []string
	for _, one := range r.Forbidden {
		if in.Previous == nil || !slices.Contains(in.Previous.Forbidden, one) {
			fresh = append(fresh, one)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	return []api.Audit{in.audit("Warning", ReasonForbidden, ForbiddenText(fresh))}
}

// ForbiddenText says what an agent may not do, of much the beginning.
func ForbiddenText(forbidden []string) string {
	text := "its API server does not permit its agent to " + strings.Join(forbidden[:min(len(forbidden), mostNamed)], ", ")
	if more := len(forbidden) - mostNamed; more > 0 {
		text += ", and more"
	}
	return text + "; give its role these verbs"
}
