package staged

import (
	"cmp"
	"fmt"
	"time"

	"flotilla/core/api"
	"flotilla/core/guard"
	"flotilla/core/phrase"
	"flotilla/core/stage"
	"flotilla/core/window"
)

// inWindows says that members of a run begin in their maintenance windows alone.
func inWindows(run *api.StagedUpdateRun, s *api.StagedUpdateStrategy) bool {
	return cmp.Or(run.Annotations[api.AnnotationWindows], s.Annotations[api.AnnotationWindows]) == "true"
}

// Opening returns what the schedule of a member says; whoever goes back does at any time.
func (e *engine) Opening(m *api.MemberUpdateStatus) window.Opening {
	if content := e.Status.Content; !content.Windows || content.RollBack != nil {
		return window.Opening{Class: window.None}
	}
	member, _ := e.view.Member(m.Name)
	return member.Windows.Next(e.Now)
}

// waits is the verdict on a member that is frozen, or whose window is closed.
func (e *engine) waits(m *api.MemberUpdateStatus, o window.Opening) *stage.Verdict {
	if freeze := e.frozen(m.Name); freeze != nil {
		return stage.Wait(api.ReasonFrozen, "%s", guard.Waits(freeze))
	}
	if o.Class.MayStart() {
		return nil
	}
	member, _ := e.view.Member(m.Name)
	v := stage.Wait(api.ReasonWindowClosed, "its maintenance window %s", member.Windows.Opens(o.Opens))
	v.Next, v.Class = o.Opens, o.Class
	return v
}

// goes is the verdict on a member that begins.
func (e *engine) goes(o window.Opening, does string) stage.Verdict {
	v := stage.Verdict{State: api.StateRunning, Reason: api.ReasonContentReleased, Message: does}
	if e.Status.Content.Windows {
		v.Class = o.Class
	}
	return v
}

// warnShut warns of members whose windows do not open.
func (v *View) warnShut(status *api.UpdateRunStatus, now time.Time) {
	if !status.Content.Windows {
		return
	}
	var shut []string
	for i := range status.Stages {
		stage.EachMember(&status.Stages[i], func(m *api.MemberUpdateStatus) {
			member, _ := v.Member(m.Name)
			if o := member.Windows.Next(now); o.Class == window.Closed && o.Opens.IsZero() {
				shut = append(shut, m.Name)
			}
		})
	}
	if len(shut) > 0 {
		status.Warnings = append(status.Warnings, fmt.Sprintf("the maintenance window of %s does not open within 400 days: the run waits there", phrase.Names(shut, shownMembers)))
	}
}
