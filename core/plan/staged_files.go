package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"flotilla/core/api"
	"flotilla/core/schedule"
	"flotilla/core/staged"
	"flotilla/core/upgrade"
)

// contentDocs are the documents around staged runs of content, by key.
type contentDocs struct {
	runs       map[string]*api.StagedUpdateRun
	strategies map[string]*api.StagedUpdateStrategy
	checks     map[string]*api.RolloutCheck
}

func newContentDocs() contentDocs {
	return contentDocs{
		runs: map[string]*api.StagedUpdateRun{}, strategies: map[string]*api.StagedUpdateStrategy{}, checks: map[string]*api.RolloutCheck{},
	}
}

// readContentRun takes in a staged run; one that was exported has its status.
func (c *collector) readContentRun(d *Document, run *api.StagedUpdateRun) {
	var body struct {
		Status *api.StagedUpdateRunStatus `json:"status"`
	}
	if err := json.Unmarshal(d.JSON, &body); err != nil {
		c.malformed(d, run.Kind, err)
		return
	}
	if run.Status = nil; body.Status != nil && len(body.Status.Stages) > 0 && body.Status.Content != nil {
		run.Status = body.Status
	}
	once(c, d, c.contents.runs, run.Key(), run)
}

// allContents are the staged runs that are not over. What they go by is filled in by ContentRuns.
func (c *collector) allContents() (runs []ContentRun) {
	for _, key := range slices.Sorted(maps.Keys(c.contents.runs)) {
		one := ContentRun{Run: c.contents.runs[key]}
		if s := one.Run.Status; s != nil {
			one.Status = &s.UpdateRunStatus
			if state := s.Status.State; state.Terminal() {
				c.notes = append(c.notes, fmt.Sprintf("%s/%s is %s: left out", one.Run.Kind, one.Run.Name, state))
				continue
			}
		}
		one.View.Strategy = c.contents.strategies[one.Run.Strategy()]
		runs = append(runs, one)
	}
	return runs
}

// HoldsContentRuns says that the files hold staged runs of content that are not over.
func (c *Collected) HoldsContentRuns() bool { return len(c.contents) > 0 }

// ContentRuns are the staged runs of the files, over the members of view as standings say they do.
func (c *Collected) ContentRuns(view upgrade.View, standings map[string]Standing) []ContentRun {
	known := make(map[string]staged.Member, len(c.Members))
	for i := range c.Members {
		name := c.Members[i].Name
		one := staged.Member{Labels: c.Members[i].Labels, Agent: c.Members[i].Agent, Leaving: c.Members[i].Leaving, Silent: standings[name].State == api.MemberUnknown}
		if m, found := view.Fleet.Member(name); found {
			one.Windows = m.Contents
		}
		known[name] = one
	}
	runs := slices.Clone(c.contents)
	for i := range runs {
		v := &runs[i].View
		v.Member = func(name string) (staged.Member, bool) { m, found := known[name]; return m, found }
		v.Result = func(string) *api.PlacementResult { return nil }
		at := slices.IndexFunc(c.Subjects, func(s Subject) bool { return s.Placement.Key() == runs[i].Run.Placement() })
		if at < 0 {
			continue
		}
		placement, released := c.Subjects[at].Placement, c.Subjects[at].Released
		placement.UID = cmp.Or(placement.UID, plannedUID)
		v.Placement, v.Release = &placement, released.Release
		v.Result = func(member string) *api.PlacementResult { return released.Results[member] }
		v.Snapshots = []*api.Snapshot{runs[i].brought(&released)}
		runs[i].Soak = c.soakOf(runs[i].Check())
	}
	return runs
}

// soakOf is for how long a check of the files has to hold.
func (c *Collected) soakOf(check string) time.Duration {
	if known := c.checks[check]; known != nil {
		return known.Spec.SoakTime()
	}
	return api.DefaultCheckSoak
}

// Check is the name of the RolloutCheck that the content goes out under, empty for none.
func (r *ContentRun) Check() string {
	switch {
	case r.Status != nil:
		return r.Status.Content.Check
	case r.View.Strategy == nil || r.View.Placement == nil:
		return ""
	}
	return cmp.Or(r.View.Strategy.Annotations[api.AnnotationRolloutCheck], r.View.Placement.Annotations[api.AnnotationRolloutCheck])
}

// brought is the snapshot that a run of the files brings: the one that its status or its spec names, else the one that
// members hold, or one beyond it where the files do not tell that it is what they hold.
func (r *ContentRun) brought(released *Released) *api.Snapshot {
	index, _ := strconv.ParseInt(r.Run.Spec.ResourceSnapshotIndex, 10, 64)
	if r.Status != nil {
		index = r.Status.Content.Snapshot
	}
	if index == 0 && released.Release != nil {
		for i := range released.Release.Entries {
			index = max(index, released.Release.Entries[i].Snapshot)
		}
		if released.UnknownContent != "" {
			index++
		}
	}
	out := api.Snapshot{UID: string(r.View.Placement.UID)}
	if released.Latest != nil {
		out = *released.Latest
	}
	out.UID, out.Index = string(r.View.Placement.UID), max(1, index)
	out.Work = strconv.FormatInt(out.Index, 10)
	return &out
}

// decide lets staged runs whose placement is not scheduled as it is to be go by what the scheduler would decide.
func (in *Input) decide(s *Subject, asked schedule.Input, decided *schedule.Plan) {
	for i := range in.ContentRuns {
		run := &in.ContentRuns[i]
		p := run.View.Placement
		if p == nil || p.Key() != s.Placement.Key() {
			continue
		}
		if known := run.View.Schedule; known != nil && known.UID == string(p.UID) && known.Generation >= p.Generation {
			continue
		}
		record := decided.Schedule(asked)
		record.UID = string(p.UID)
		run.View.Schedule = &record
	}
}
