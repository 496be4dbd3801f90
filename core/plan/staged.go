package plan

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"flotilla/core/api"
	"flotilla/core/staged"
	"flotilla/core/upgrade"
)

// ContentRun is a staged run of content to plan: a new one, or one that exists when Status is given.
type ContentRun struct {
	Run    *api.StagedUpdateRun
	Status *api.UpdateRunStatus
	View   staged.View
	// Soak is for how long the checks of its content have to hold.
	Soak time.Duration
}

// plan simulates the run over a copy of the fleet.
func (r *ContentRun) plan(now time.Time, a upgrade.Assumptions) upgrade.RunPlan {
	a.Default = staged.DefaultDuration
	status, refusal := r.status(now)
	if refusal != nil {
		return upgrade.PlanRefused(r.Run.Key(), refusal)
	}
	out := upgrade.PlanIn(staged.Foresee(r.Run, r.View, r.Soak), status, now, a)
	r.tellSnapshots(&out, status.Content.Snapshot)
	if status.Content.Windows {
		r.tellLocal(&out)
	}
	return out
}

func (r *ContentRun) status(now time.Time) (api.UpdateRunStatus, *api.Refusal) {
	if r.Status != nil {
		return *r.Status, nil
	}
	return staged.Create(r.Run, r.View, now)
}

// tellSnapshots says which snapshot members have now, and which they would be given.
func (r *ContentRun) tellSnapshots(out *upgrade.RunPlan, snapshot int64) {
	for i := range out.Members {
		m := &out.Members[i]
		if m.Start == nil {
			continue
		}
		if had := r.snapshotOn(m.Name); had != 0 && had != snapshot {
			m.From = fmt.Sprintf("revision %d", had)
		}
		if m.Stage != api.DeleteStage {
			m.To = fmt.Sprintf("revision %d", snapshot)
		}
	}
}

// tellLocal says when members start on the clocks of their schedules.
func (r *ContentRun) tellLocal(out *upgrade.RunPlan) {
	for i := range out.Members {
		m := &out.Members[i]
		if member, _ := r.View.Member(m.Name); member.Windows != nil && m.Start != nil {
			m.Local = member.Windows.Local(m.Start.Time).Format("Mon 15:04 MST")
		}
	}
}

// snapshotOn is what a member was given last, 0 for nothing.
func (r *ContentRun) snapshotOn(member string) int64 {
	if r.View.Release == nil {
		return 0
	}
	for i := range r.View.Release.Entries {
		if e := &r.View.Release.Entries[i]; e.Member == member {
			return e.Snapshot
		}
	}
	return 0
}

// planContents plans every staged run by itself, as far as there is room and somebody waits.
func planContents(in *Input) ([]upgrade.RunPlan, []RunDetail) {
	runs := slices.Clone(in.ContentRuns)
	slices.SortStableFunc(runs, func(a, b ContentRun) int { return cmp.Compare(a.Run.Key(), b.Run.Key()) })
	planned, details := make([]upgrade.RunPlan, 0, len(runs)), make([]RunDetail, 0, len(runs))
	for i := range runs {
		if !in.AssumeContent.GoesOn(planned) {
			break
		}
		planned = append(planned, runs[i].plan(in.Now, in.AssumeContent))
		details = append(details, RunDetail{Kind: runs[i].Run.Kind, Upgrade: "content of placement " + runs[i].Run.Placement()})
	}
	return planned, details
}
