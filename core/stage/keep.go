package stage

import (
	"slices"
	"strings"

	"flotilla/core/api"
)

// KeepSkips carries over to an edited run what users skipped in the one it had before, of members that
// are still there. A skip whose target the edit took away is named in a warning.
func (r *Run) KeepSkips(old *api.UpdateRunStatus, there func(*api.MemberUpdateStatus) bool) api.UpdateRunStatus {
	var lost []string
	for _, target := range skipsOf(old, there) {
		switch skip, refusal := r.findTarget(target); {
		case refusal == nil:
			skip()
		case refusal.Code == api.CodeSkipTargetNotFound:
			lost = append(lost, target.Type+":"+target.Name)
		}
	}
	r.settle()
	if len(lost) > 0 {
		r.Status.Warnings = append(append([]string(nil), r.Status.Warnings...), "the edit took away what a user had skipped: "+strings.Join(lost, ", "))
	}
	return r.Status
}

// skipsOf lists what users skipped in a run that was not started.
func skipsOf(old *api.UpdateRunStatus, there func(*api.MemberUpdateStatus) bool) []api.SkipTarget {
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
				if m := &g.Members[k]; m.SkippedBy == api.SkippedByUser && there(m) {
					add(api.TargetMember, m.Name)
				}
			}
		}
	}
	return targets
}

// Replace puts a tree whose members were selected anew in the place of one that was not started, and
// keeps what users skipped.
func (r *Run) Replace(fresh []api.StageStatus, members int) {
	keepSkips(fresh, r.Status.Stages)
	r.Restart(fresh, members)
}

// keepSkips carries over what users skipped before the first start.
func keepSkips(fresh, old []api.StageStatus) {
	for i := range fresh {
		fresh[i].SkippedByUser = old[i].SkippedByUser
		fresh[i].Status, fresh[i].Wait = old[i].Status, old[i].Wait
		fresh[i].BeforeGates, fresh[i].AfterGates = old[i].BeforeGates, old[i].AfterGates
		for j := range fresh[i].Groups {
			g, was := &fresh[i].Groups[j], &old[i].Groups[j]
			g.SkippedByUser, g.BeforeGates, g.AfterGates = was.SkippedByUser, was.BeforeGates, was.AfterGates
			if was.SkippedByUser {
				g.Status = was.Status
			}
			for k := range g.Members {
				m := &g.Members[k]
				at := slices.IndexFunc(was.Members, func(o api.MemberUpdateStatus) bool {
					return o.Name == m.Name && o.ClusterResourceID == m.ClusterResourceID
				})
				switch {
				case at >= 0:
					*m = was.Members[at]
				case g.SkippedByUser:
					skipByUser(m, api.ReasonSkippedByGroup, g.Status.CompletedTime)
				}
			}
		}
	}
}

// rebase makes the refreshed tree the one that events compare with: members that came or went are no
// transitions.
func (r *Run) rebase() {
	was := *r.was
	was.Stages = make([]api.StageStatus, len(r.Status.Stages))
	copied := New(&r.Status, nil, r.Now)
	for i := range was.Stages {
		was.Stages[i] = *copied.Own(i)
	}
	r.was = &was
}
