package show

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/hub/flotilla/cli/session"
)

func checkColumns(c *api.RolloutCheck, now time.Time) []Column {
	names := make([]string, len(c.Spec.Checks))
	for i := range c.Spec.Checks {
		names[i] = c.Spec.Checks[i].Name
	}
	return []Column{
		{"Name", false, c.Name},
		{"Checks", false, session.OrDash(strings.Join(names, ","))},
		{"Soak", false, phrase.Span(c.Spec.SoakTime())},
		{"Failures", false, strconv.Itoa(c.Spec.Limit())},
		{"On-Failure", false, cmp.Or(c.Spec.OnFailure, api.OnFailureStop)},
		{"Age", false, session.Since(now, c.CreationTimestamp.Time)},
	}
}
