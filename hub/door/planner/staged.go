package planner

import (
	"context"
	"slices"
	"time"

	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/core/staged"
	"flotilla/core/upgrade"
	"flotilla/core/validate"
	"flotilla/hub/door/draft"
)

// planContents adds to a plan the staged runs of content among the documents and the stored ones that the request names.
func (p *Planner) planContents(ctx context.Context, f *draft.Draft, documents *draft.Documents, request *api.PlanRequest, in *plan.Input) error {
	runs, err := p.contentRuns(documents, request.Runs)
	if err != nil || len(runs) == 0 {
		return err
	}
	known, err := p.contentMembers(f, in.Members)
	if err != nil {
		return err
	}
	for _, run := range runs {
		if err := ctx.Err(); err != nil {
			return err
		}
		one := plan.ContentRun{Run: run, Status: p.plannedStatus(run.Key(), &run.ObjectMeta)}
		if one.View, err = p.contentView(f, documents, run, known); err != nil {
			return err
		}
		one.Soak = p.soak(&one)
		in.ContentRuns = append(in.ContentRuns, one)
	}
	in.AssumeContent = assumptions(request)
	var history []api.UpdateRunStatus
	for _, entry := range p.records.Runs.All() {
		if entry.Value.Content != nil {
			history = append(history, entry.Value)
		}
	}
	in.AssumeContent.History = upgrade.DurationsOf(history)
	return nil
}

// contentRuns are the staged runs among the documents, then the stored ones that are named and not among them.
func (p *Planner) contentRuns(documents *draft.Documents, named []string) ([]*api.StagedUpdateRun, error) {
	var runs []*api.StagedUpdateRun
	planned := map[string]bool{}
	for i := range documents.All {
		if run := validate.As[api.StagedUpdateRun](&documents.All[i].Decoded); run != nil {
			runs, planned[run.Key()] = append(runs, run), true
		}
	}
	for _, entry := range p.records.Specs[api.KindUpdateRun].All() {
		everyActive := slices.Contains(named, allRuns) && p.active(&entry.Value)
		if entry.Value.Object.Kind == api.KindUpdateRun || planned[entry.Name] || !everyActive && !slices.Contains(named, entry.Name) {
			continue
		}
		run, err := api.SpecOf[api.StagedUpdateRun](&entry.Value)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// contentMembers is what runs go by on members, by name.
func (p *Planner) contentMembers(f *draft.Draft, members []api.Member) (map[string]staged.Member, error) {
	upgrades, err := f.Upgrades()
	if err != nil {
		return nil, err
	}
	known := make(map[string]staged.Member, len(members))
	for i := range members {
		record, _, _ := p.records.Seen.Get(members[i].Name)
		one := staged.Member{Labels: members[i].Labels, Agent: members[i].Agent, Leaving: members[i].Leaving, Silent: record.State == api.MemberUnknown}
		if m, found := upgrades.View.Fleet.Member(members[i].Name); found {
			one.Windows = m.Contents
		}
		known[members[i].Name] = one
	}
	return known, nil
}

// contentView is what a run goes by, with the placement and the strategy as they would be.
func (p *Planner) contentView(f *draft.Draft, documents *draft.Documents, run *api.StagedUpdateRun, known map[string]staged.Member) (v staged.View, err error) {
	v = staged.View{Placement: f.Placements()[run.Placement()], Runs: p.records.Staged.Of(run.Placement()), Freezes: p.records.Frozen()}
	v.Member = func(name string) (staged.Member, bool) { m, found := known[name]; return m, found }
	v.Result = func(string) *api.PlacementResult { return nil }
	if v.Placement != nil {
		results := p.view.StatusOf(v.Placement).Results
		v.Result = func(member string) *api.PlacementResult { return results[member] }
	}
	if schedule, _, found := p.records.Schedules.Get(run.Placement()); found {
		v.Schedule = &schedule
	}
	if release, _, found := p.records.Releases.Get(run.Placement()); found {
		v.Release = &release
	}
	if checks, _, found := p.records.Checks.Get(run.Placement()); found {
		v.Checks = &checks
	}
	for _, entry := range p.records.Snapshots.Group(run.Placement()) {
		v.Snapshots = append(v.Snapshots, &entry.Value)
	}
	if cut := f.Cut(run.Placement()); cut != nil {
		v.Snapshots = append(v.Snapshots, cut)
	}
	v.Strategy, err = p.contentStrategy(documents, run)
	return v, err
}

func (p *Planner) contentStrategy(documents *draft.Documents, run *api.StagedUpdateRun) (*api.StagedUpdateStrategy, error) {
	for i := range documents.All {
		s := validate.As[api.StagedUpdateStrategy](&documents.All[i].Decoded)
		if s != nil && api.Keyed(s.Namespace, s.Name) == run.Strategy() {
			return s, nil
		}
	}
	stored, _, found := p.records.Specs[api.KindClusterStagedUpdateStrategy].Get(run.Strategy())
	if !found {
		return nil, nil
	}
	return api.SpecOf[api.StagedUpdateStrategy](&stored)
}

// soak is for how long the checks of a run have to hold, nothing without any.
func (p *Planner) soak(r *plan.ContentRun) time.Duration {
	stored, _, found := p.records.Specs[api.KindRolloutCheck].Get(r.Check())
	if !found {
		return api.DefaultCheckSoak
	}
	check, err := api.SpecOf[api.RolloutCheck](&stored)
	if err != nil {
		return api.DefaultCheckSoak
	}
	return check.Spec.SoakTime()
}
