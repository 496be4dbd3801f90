package planner

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/core/upgrade"
	"flotilla/core/validate"
	"flotilla/hub/door/draft"
	"flotilla/hub/door/records"
)

// allRuns in a request for a plan stands for every run that is active.
const allRuns = "*"

// planRuns adds to a plan the runs among the documents and the stored ones that the request names, with
// the fleet they would go over.
func (p *Planner) planRuns(f *draft.Draft, documents *draft.Documents, request *api.PlanRequest, in *plan.Input) error {
	runs, err := p.runsToPlan(documents, request.Runs)
	if err != nil || len(runs) == 0 {
		return err
	}
	after, err := f.Upgrades()
	if err != nil {
		return err
	}
	for _, run := range runs {
		in.Runs = append(in.Runs, upgrade.PlannedRun{
			Run: run, Strategy: after.Strategies[run.Spec.StrategyName], Status: p.plannedStatus(run.Name, &run.ObjectMeta),
		})
	}
	in.View = after.View
	in.View.Locks = map[string]string{}
	others := p.others()
	for i := range others.Locks {
		in.View.Locks[others.Locks[i].Member] = others.Locks[i].Owner
	}
	in.Assume = assumptions(request)
	in.Assume.History = upgrade.DurationsOf(others.Runs)
	in.Assume.Ends = others.Ends(in.View.Fleet, in.Assume)
	return nil
}

// others is what is under way on members, and what was.
func (p *Planner) others() upgrade.Others {
	var known upgrade.Others
	for _, lock := range p.records.Locks.All() {
		known.Locks = append(known.Locks, lock.Value)
	}
	for _, entry := range p.records.Runs.All() {
		if entry.Value.Content == nil {
			known.Runs = append(known.Runs, entry.Value)
		}
	}
	for _, entry := range p.records.Disruptions.All() {
		known.Disruptions = append(known.Disruptions, entry.Value)
	}
	return known
}

// assumptions are those that a request says itself.
func assumptions(request *api.PlanRequest) upgrade.Assumptions {
	a := upgrade.Assumptions{Operation: request.Operation}
	if request.ApproveAfter != nil {
		a.ApproveAfter = &request.ApproveAfter.Duration
	}
	if request.Assume != nil {
		a.Duration = request.Assume.Duration
	}
	return a
}

// runsToPlan are the runs among the documents, then the stored ones that are named and not among them.
func (p *Planner) runsToPlan(documents *draft.Documents, named []string) ([]*api.UpdateRun, error) {
	var runs []*api.UpdateRun
	planned := map[string]bool{}
	add := func(run *api.UpdateRun) {
		if !planned[run.Name] {
			planned[run.Name] = true
			runs = append(runs, run)
		}
	}
	for i := range documents.All {
		if run := validate.As[api.UpdateRun](&documents.All[i].Decoded); run != nil {
			add(run)
		}
	}
	stored := p.records.Specs[api.KindUpdateRun]
	for _, name := range named {
		if name == allRuns {
			continue
		}
		if _, _, found := stored.Get(name); !found && !planned[name] {
			return nil, records.NotFound(api.ObjectRef{Kind: api.KindUpdateRun, Name: name})
		}
	}
	for _, entry := range stored.All() {
		if entry.Value.Object.Kind != api.KindUpdateRun {
			continue
		}
		everyActive := slices.Contains(named, allRuns) && p.active(&entry.Value)
		if !everyActive && !slices.Contains(named, entry.Name) {
			continue
		}
		run, err := api.SpecOf[api.UpdateRun](&entry.Value)
		if err != nil {
			return nil, err
		}
		add(run)
	}
	return runs, nil
}

func (p *Planner) active(spec *api.Spec) bool {
	status := p.records.RunStatus(spec)
	return status != nil && (status.Status.State.Active() || status.Status.State == api.StateStopping)
}

// plannedStatus is where a plan of a run begins: its status, nil when it is still to be created, or
// created anew because its spec is another one.
func (p *Planner) plannedStatus(name string, run *metav1.ObjectMeta) *api.UpdateRunStatus {
	status, _, found := p.records.Runs.Get(name)
	switch {
	case !found || status.UID != string(run.UID) || len(status.Stages) == 0:
		return nil
	case status.Status.State == api.StateNotStarted && status.ObservedGeneration != run.Generation:
		return nil
	}
	return &status
}
