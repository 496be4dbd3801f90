package upgrade

import (
	"time"

	"flotilla/core/api"
)

// KeepSkips carries over to the status of an edited run what users skipped in the one it had before. A
// skip whose target the edit took away is named in a warning. A member under a name that another one
// bears now was not skipped by anybody.
func KeepSkips(run *api.UpdateRun, fresh, old *api.UpdateRunStatus, view View, now time.Time) api.UpdateRunStatus {
	e := newEngine(run, fresh, view, now)
	return e.KeepSkips(old, func(m *api.MemberUpdateStatus) bool { return e.frozen(m) != nil })
}
