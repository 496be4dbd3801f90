package upgrade

import (
	"strings"
	"time"

	"flotilla/core/api"
)

// KeepSkips carries over to the status of an edited run what users skipped in the one it had before. A
// skip whose target the edit took away is named in a warning.
func KeepSkips(run *api.UpdateRun, fresh, old *api.UpdateRunStatus, view View, now time.Time) api.UpdateRunStatus {
	e := newEngine(run, fresh, view, now)
	var lost []string
	for _, target := range e.skipsOf(old) {
		switch skip, refusal := e.findTarget(target); {
		case refusal == nil:
			skip()
		case refusal.Code == api.CodeSkipTargetNotFound:
			lost = append(lost, target.Type+":"+target.Name)
		}
	}
	e.settle()
	if len(lost) > 0 {
		e.st.Warnings = append(append([]string(nil), e.st.Warnings...), "the edit took away what a user had skipped: "+strings.Join(lost, ", "))
	}
	return e.st
}

// skipsOf lists what users skipped in a run that was not started. A member under a name that another one
// bears now was not skipped by anybody.
func (e *engine) skipsOf(old *api.UpdateRunStatus) []api.SkipTarget {
	var targets []api.SkipTarget
	add := func(kind, name string) { targets = append(targets, api.SkipTarget{Type: kind, Name: name}) }
	for i := range old.Stages {
		s := &old.Stages[i]
		if s.SkippedByUser {
			add(api.TargetStage, s.Name)
			continue
		}
		if s.Wait != nil && (s.Wait.SkipRequested || s.Wait.Status.State == api.StateSkipped) {
			add(api.TargetAfterStageWait, s.Name)
		}
		for j := range s.Groups {
			g := &s.Groups[j]
			if g.SkippedByUser {
				add(api.TargetGroup, g.Name)
				continue
			}
			for k := range g.Members {
				m := &g.Members[k]
				f, known := e.view.Fleet.members[m.Name]
				if m.SkippedBy == api.SkippedByUser && known && f.is(m.ClusterResourceID) {
					add(api.TargetMember, m.Name)
				}
			}
		}
	}
	return targets
}
