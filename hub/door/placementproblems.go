package door

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/status"
	"flotilla/subjects"
)

// Reasons of problems of placements; others are those of their conditions.
const (
	reasonFailed      = "ApplyFailed"
	reasonInvalid     = "InvalidResourceSelectors"
	reasonNothing     = "NothingSelected"
	reasonUnfulfilled = "SchedulingPolicyUnfulfilled"
	reasonDeleting    = "Deleting"
	reasonUnconfirmed = "Unconfirmed"
)

// patience is how long something may be on its way before it is a problem.
const patience = 15 * time.Second

// noteIdle says which selectors of the placements among documents select nothing.
func (f *draft) noteIdle(documents []document) {
	for i := range documents {
		p := documents[i].Placement
		if p == nil {
			continue
		}
		idle := content.Unmatched(p.Spec.ResourceSelectors, p.Namespace, f.index)
		for j := range f.results {
			if f.results[j].Object == documents[i].Object {
				f.results[j].Notes = append(f.results[j].Notes, idle...)
			}
		}
	}
}

// placementProblems are what people should look at in a placement, by the same aggregate that get
// shows, and whether members are still on the way to what it wants.
func (d *Door) placementProblems(entry *bus.Entry[api.Spec]) (problems []api.Problem, converging bool, err error) {
	problem := api.Problem{
		Object: subjects.KindPlacement + "/" + entry.Name, Next: "flotilla describe " + typedPlacement(entry.Value.Object),
	}
	if entry.Value.Deleted != nil {
		problem.Reason, problem.Since = reasonDeleting, *entry.Value.Deleted
		problem.Message = "waits for " + enumerate(d.unconfirmedMembers(&entry.Value, entry.Name))
		return []api.Problem{problem}, false, nil
	}
	p, err := d.decoded.placement(entry)
	if err != nil { // a problem of its own, see unreadableProblems
		return nil, false, nil
	}
	in := d.statusInput(p, entry.Name)
	if record, _, found := d.records.statuses.Get(entry.Name); found && record.UID == entry.Value.UID {
		in.Previous = &record
	}
	now := status.Aggregate(in)
	converging = now.Counts.Available < now.Counts.Picked || now.Counts.Current < now.Counts.Picked
	if failed, found := firstFailure(&now); found {
		failed.Object, failed.Next = problem.Object, problem.Next
		problems = append(problems, failed)
	}
	if in.Latest != nil && in.Latest.Error == "" && len(in.Latest.Manifests) == 0 {
		idle := problem
		idle.Reason, idle.Since = reasonNothing, in.Latest.Created
		idle.Message = p.Spec.ResourceSelectors[0].SelectsNothing(0)
		problems = append(problems, idle)
	}
	condition := firstProblem(now.Conditions)
	if condition == nil {
		return problems, converging, nil
	}
	if condition.Status == metav1.ConditionUnknown && in.Now.Sub(condition.LastTransitionTime.Time) < patience {
		return problems, true, nil // it is on its way
	}
	if len(problems) == 0 || condition.Reason == reasonUnfulfilled {
		problem.Reason, problem.Message, problem.Since = condition.Reason, condition.Message, condition.LastTransitionTime
		if condition.Reason == reasonUnfulfilled {
			problem.Next = "flotilla why " + typedPlacement(entry.Value.Object)
		}
		problems = append(problems, problem)
	}
	return problems, converging, nil
}

// typedPlacement is how a placement is typed at the command line.
func typedPlacement(ref api.ObjectRef) string {
	if ref.Namespace != "" {
		return "rp/" + ref.Name + " -n " + ref.Namespace
	}
	return "placement/" + ref.Name
}

// firstFailure names the first member and object that could not be applied, and how many more members
// there are.
func firstFailure(now *api.PlacementStatus) (api.Problem, bool) {
	problem := api.Problem{Reason: reasonFailed}
	for i := range now.PlacementStatuses {
		member := &now.PlacementStatuses[i]
		at := slices.IndexFunc(member.FailedPlacements, func(f api.FailedPlacement) bool { return f.Condition.Type == api.ConditionApplied })
		if at < 0 {
			continue
		}
		failed := &member.FailedPlacements[at]
		object := api.ObjectRef{Kind: failed.Kind, Namespace: failed.Namespace, Name: failed.Name}
		problem.Message = fmt.Sprintf("%s on member %s: %s", object, member.ClusterName, failed.Condition.Message)
		if more := now.Counts.Failed - 1; more > 0 {
			problem.Message += fmt.Sprintf(" (and %s)", count(more, "more member"))
		}
		problem.Since = failed.Condition.LastTransitionTime
		return problem, true
	}
	return problem, false
}

// unconfirmed are withdrawals that members have not confirmed for a while, of placements that stay and
// of those that are gone.
func (d *Door) unconfirmed(now time.Time) []api.Problem {
	var problems []api.Problem
	for _, release := range d.records.releases.All() {
		spec, _, found := d.records.placements.Get(release.Name)
		if found && spec.Deleted != nil {
			continue
		}
		problem := api.Problem{
			Object: subjects.KindPlacement + "/" + release.Name, Reason: reasonUnconfirmed, Next: "flotilla get members",
		}
		var members []string
		for i := range release.Value.Entries {
			entry := &release.Value.Entries[i]
			if !entry.Withdrawn || now.Sub(entry.Since.Time) < patience {
				continue
			}
			members = append(members, entry.Member)
			if problem.Since.IsZero() || entry.Since.Before(&problem.Since) {
				problem.Since = entry.Since
			}
		}
		if len(members) == 0 {
			continue
		}
		slices.Sort(members)
		problem.Message = "withdrawn, and not confirmed yet by " + enumerate(members)
		if !found {
			problem.Message = "deleted, " + problem.Message
		}
		problems = append(problems, problem)
	}
	return problems
}

// firstProblem is the first condition that is not True: those after it only follow from it.
func firstProblem(conditions []metav1.Condition) *metav1.Condition {
	for i := range conditions {
		if conditions[i].Status != metav1.ConditionTrue {
			return &conditions[i]
		}
	}
	return nil
}
