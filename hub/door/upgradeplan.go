package door

import (
	"slices"

	"flotilla/core/api"
	"flotilla/core/plan"
	"flotilla/core/upgrade"
	"flotilla/core/validate"
	"flotilla/hub/door/records"
)

// allRuns in a request for a plan stands for every run that is active.
const allRuns = "*"

// planRuns adds to a plan the runs among the documents and the stored ones that the request names, with
// the fleet they would go over.
func (d *Door) planRuns(f *draft, documents []document, request *api.PlanRequest, in *plan.Input) error {
	runs, err := d.runsToPlan(documents, request.Runs)
	if err != nil || len(runs) == 0 {
		return err
	}
	after, err := d.upgradesAfter(f)
	if err != nil {
		return err
	}
	for _, run := range runs {
		in.Runs = append(in.Runs, upgrade.PlannedRun{
			Run: run, Strategy: after.Strategies[run.Spec.StrategyName], Status: d.plannedStatus(run),
		})
	}
	in.View = after.View
	in.View.Locks = map[string]string{}
	others := d.others()
	for i := range others.Locks {
		in.View.Locks[others.Locks[i].Member] = others.Locks[i].Owner
	}
	in.Assume = assumptions(request)
	in.Assume.History = upgrade.DurationsOf(others.Runs)
	in.Assume.Ends = others.Ends(in.View.Fleet, in.Assume)
	return nil
}

// others is what is under way on members, and what was.
func (d *Door) others() upgrade.Others {
	var known upgrade.Others
	for _, lock := range d.records.Locks.All() {
		known.Locks = append(known.Locks, lock.Value)
	}
	for _, entry := range d.records.Runs.All() {
		known.Runs = append(known.Runs, entry.Value)
	}
	for _, entry := range d.records.Disruptions.All() {
		known.Disruptions = append(known.Disruptions, entry.Value)
	}
	return known
}

// assumptions are those that a request says itself.
func assumptions(request *api.PlanRequest) upgrade.Assumptions {
	var a upgrade.Assumptions
	if request.ApproveAfter != nil {
		a.ApproveAfter = &request.ApproveAfter.Duration
	}
	if request.Assume != nil {
		a.Duration = request.Assume.Duration
	}
	return a
}

// runsToPlan are the runs among the documents, then the stored ones that are named and not among them.
func (d *Door) runsToPlan(documents []document, named []string) ([]*api.UpdateRun, error) {
	var runs []*api.UpdateRun
	planned := map[string]bool{}
	add := func(run *api.UpdateRun) {
		if !planned[run.Name] {
			planned[run.Name] = true
			runs = append(runs, run)
		}
	}
	for i := range documents {
		if run := validate.As[api.UpdateRun](&documents[i].Decoded); run != nil {
			add(run)
		}
	}
	stored := d.records.Specs[api.KindUpdateRun]
	for _, name := range named {
		if name == allRuns {
			continue
		}
		if _, _, found := stored.Get(name); !found && !planned[name] {
			return nil, records.NotFound(api.ObjectRef{Kind: api.KindUpdateRun, Name: name})
		}
	}
	for _, entry := range stored.All() {
		everyActive := slices.Contains(named, allRuns) && d.active(&entry.Value)
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

func (d *Door) active(spec *api.Spec) bool {
	status := d.records.RunStatus(spec)
	return status != nil && (status.Status.State.Active() || status.Status.State == api.StateStopping)
}

// plannedStatus is where a plan of a run begins: its status, nil when it is still to be created, or
// created anew because its spec is another one.
func (d *Door) plannedStatus(run *api.UpdateRun) *api.UpdateRunStatus {
	status, _, found := d.records.Runs.Get(run.Name)
	switch {
	case !found || status.UID != string(run.UID) || len(status.Stages) == 0:
		return nil
	case status.Status.State == api.StateNotStarted && status.ObservedGeneration != run.Generation:
		return nil
	}
	return &status
}
