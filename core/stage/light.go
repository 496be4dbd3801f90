package stage

import (
	"strings"

	"flotilla/core/api"
)

// Weights is how many times Lighter can make a record lighter.
const Weights = 4

// Lighter returns the status with less of what is only for people to read, less with every weight from 1
// to Weights: first the history goes without messages, then the history itself, then messages are cut to
// 64 bytes, at last there are none. Whatever decisions rest on stays. The one that was given is unchanged.
func Lighter(status api.UpdateRunStatus, weight int) api.UpdateRunStatus {
	r := New(&status, nil, status.Status.StartTime.Time)
	for i := range r.Status.Stages {
		EachMember(r.Own(i), func(m *api.MemberUpdateStatus) { lighten(m, weight) })
	}
	return r.Status
}

func lighten(m *api.MemberUpdateStatus, weight int) {
	short := make([]api.UpgradeAttempt, len(m.History))
	for i, attempt := range m.History {
		attempt.Message = ""
		short[i] = attempt
	}
	m.History = short
	if weight > 1 {
		m.History = nil
	}
	switch {
	case m.Status.State == api.StateRunning && unfollowed(m):
	case weight > 3 && !strings.HasPrefix(m.Message, overstayed):
		m.Message = ""
	case weight > 2:
		m.Message = Cut(m.Message, 64)
	}
}
