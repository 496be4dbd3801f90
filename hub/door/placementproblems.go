package door

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/schedule"
	"flotilla/core/status"
	"flotilla/core/validate"
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
		p := validate.As[api.Placement](&documents[i].Decoded)
		if p == nil {
			continue
		}
		idle := content.Unmatched(p.Spec.ResourceSelectors, p.Namespace, f.index, api.OnTheHub)
		for j := range f.results {
			if f.results[j].Object == documents[i].Object {
				f.results[j].Notes = append(f.results[j].Notes, idle...)
			}
		}
	}
}

// noteHopes says what the placements among documents ask for that the fleet cannot give yet.
func (f *draft) noteHopes(documents []document) error {
	if !slices.ContainsFunc(documents, func(doc document) bool { return validate.As[api.Placement](&doc.Decoded) != nil }) {
		return nil
	}
	members, err := f.fleet(documents)
	if err != nil {
		return err
	}
	for i := range documents {
		if validate.As[api.Placement](&documents[i].Decoded) == nil {
			continue
		}
		hopes := schedule.Hopes(validate.As[api.Placement](&documents[i].Decoded), members)
		for j := range f.results {
			if f.results[j].Object == documents[i].Object {
				f.results[j].Notes = append(f.results[j].Notes, hopes...)
			}
		}
	}
	return nil
}

// placementProblems are what people should look at in a placement, by the same aggregate that get
// shows, and whether members are still on the way to what it wants.
func (d *Door) placementProblems(entry *bus.Entry[api.Spec]) (problems []api.Problem, converging bool) {
	problem := api.Problem{
		Object: subjects.KindPlacement + "/" + entry.Name, Next: "flotilla describe " + typedPlacement(entry.Value.Object),
	}
	if entry.Value.Deleted != nil {
		problem.Reason, problem.Since = reasonDeleting, *entry.Value.Deleted
		problem.Message = "waits for " + enumerate(d.withState(d.unconfirmedMembers(&entry.Value, entry.Name)))
		return []api.Problem{problem}, false
	}
	p, err := d.decoded.placement(entry)
	if err != nil { // a problem of its own, see unreadableProblems
		return nil, false
	}
	in := d.statusOf(p)
	now := status.Aggregate(in)
	add := func(reason, message string, since metav1.Time, next string) {
		problems = append(problems, api.Problem{Object: problem.Object, Reason: reason, Message: message, Since: since, Next: next})
	}
	typed := typedPlacement(entry.Value.Object)
	if failed, found := firstFailure(&now); found {
		add(failed.Reason, failed.Message, failed.Since, problem.Next)
	}
	if selectsNothing(p, in.Latest) {
		add(reasonNothing, p.Spec.ResourceSelectors[0].SelectsNothing(0, api.OnTheHub), in.Latest.Created, problem.Next)
	}
	scheduled, chain, progress := split(now.Conditions)
	fresh := func(c *metav1.Condition) bool {
		return c.Status == metav1.ConditionUnknown && in.Now.Sub(c.LastTransitionTime.Time) < patience
	}
	switch first := firstProblem(chain); {
	case progress != nil && progress.Status == metav1.ConditionFalse:
		add(progress.Reason, progress.Message, now.Rollout.Since, "flotilla get "+typed+" --members")
	case first != nil && len(problems) == 0 && !fresh(first):
		add(first.Reason, heldUp(first, now.Rollout), first.LastTransitionTime, "flotilla get "+typed+" --members")
	}
	if scheduled.Status != metav1.ConditionTrue && !fresh(scheduled) {
		next := problem.Next
		if scheduled.Reason == reasonUnfulfilled {
			next = "flotilla why " + typed
		}
		add(scheduled.Reason, scheduled.Message, scheduled.LastTransitionTime, next)
	}
	return problems, converges(&now)
}

// converges says that members are still on the way to what the placement wants.
func converges(now *api.PlacementStatus) bool {
	first := firstProblem(now.Conditions)
	return now.Counts.Available < now.Counts.Picked || now.Counts.Current < now.Counts.Picked ||
		first != nil && first.Status == metav1.ConditionUnknown
}

// split tells the conditions apart: the first, those that follow from one another, and how the rollout
// does, nil when there is none.
func split(conditions []metav1.Condition) (scheduled *metav1.Condition, chain []metav1.Condition, progress *metav1.Condition) {
	chain = conditions[1:]
	if len(chain) > 0 && strings.HasSuffix(chain[0].Type, api.ConditionRolloutProgressing) {
		chain, progress = chain[1:], &chain[0]
	}
	return &conditions[0], chain, progress
}

// heldUp is a condition's message with who holds the rollout up, where it does not say so.
func heldUp(c *metav1.Condition, r *api.Rollout) string {
	if r == nil || r.Message == "" || strings.HasSuffix(c.Message, r.Message) {
		return c.Message
	}
	return c.Message + "; " + r.Message
}

// selectsNothing says that the newest snapshot of a placement that selects something holds nothing.
func selectsNothing(p *api.Placement, latest *api.Snapshot) bool {
	return latest != nil && latest.Error == "" && len(latest.Manifests) == 0 && len(p.Spec.ResourceSelectors) > 0
}

// typedPlacement is how a placement is typed at the command line.
func typedPlacement(ref api.ObjectRef) string {
	if ref.Namespace != "" {
		return "rp/" + ref.Name + " -n " + ref.Namespace
	}
	return api.AuditObject(api.AuditPlacement, ref.Name)
}

// typed is how an object is typed at the command line.
func typed(ref api.ObjectRef) string {
	switch {
	case ref.Kind == api.KindClusterResourcePlacement, ref.Kind == api.KindResourcePlacement:
		return typedPlacement(ref)
	case validate.Known(ref.APIVersion, ref.Kind):
		return auditName(ref)
	case ref.Namespace != "":
		return ref.Kind + "/" + ref.Name + " -n " + ref.Namespace
	}
	return ref.Kind + "/" + ref.Name
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
		problem.Message = "withdrawn, and not confirmed yet by " + enumerate(d.withState(members))
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
