package health

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/core/status"
)

// TypedPlacement is how a placement is typed at the command line.
func TypedPlacement(namespace, name string) string {
	if namespace != "" {
		return "rp/" + name + " -n " + namespace
	}
	return api.AuditObject(api.AuditPlacement, name)
}

// Calm says that a placement has no problem and none of its members is on the way, by its record alone, which is a second old
// at most. In needs neither results nor members.
func Calm(in status.Input) bool {
	was := in.Previous
	if was == nil || in.Latest == nil || selectsNothing(&in.Placement, in.Latest) {
		return false
	}
	return was.ObservedGeneration == in.Placement.Generation && was.ObservedSnapshot == strconv.FormatInt(in.Latest.Index, 10) &&
		len(was.Conditions) > 0 && firstProblem(was.Conditions) == nil && withheld(was.Conditions) == nil && len(was.PlacementStatuses) == 0 && !converges(was)
}

// Placement returns the problems of a placement that does as now says, and whether members are still on the way to what it
// wants.
func Placement(in status.Input, now *api.PlacementStatus) (problems []api.Problem, converging bool) {
	object, typed := api.AuditObject(api.AuditPlacement, in.Placement.Key()), TypedPlacement(in.Placement.Namespace, in.Placement.Name)
	describe, members := "flotilla describe "+typed, "flotilla get "+typed+" --members"
	add := func(reason, message string, since metav1.Time, next string) {
		problems = append(problems, api.Problem{Object: object, Reason: reason, Message: message, Since: since, Next: next})
	}
	if failed, found := firstFailure(now); found {
		add(failed.Reason, failed.Message, failed.Since, describe)
	}
	if selectsNothing(&in.Placement, in.Latest) {
		add(ReasonNothing, in.Placement.Spec.ResourceSelectors[0].SelectsNothing(0, api.OnTheHub), in.Latest.Created, describe)
	}
	if held := withheld(now.Conditions); held != nil {
		add(held.Reason, held.Message, held.LastTransitionTime, "flotilla approve withdrawal "+typed+" --dry-run=server")
	}
	scheduled, chain, progress := split(now.Conditions)
	fresh := func(c *metav1.Condition) bool {
		return c.Status == metav1.ConditionUnknown && in.Now.Sub(c.LastTransitionTime.Time) < patience
	}
	switch first := firstProblem(chain); {
	case progress != nil && progress.Status == metav1.ConditionFalse:
		add(progress.Reason, progress.Message, now.Rollout.Since, members)
	case first != nil && first.Reason == api.ReasonRolloutExternal: // as staged runs have it
	case first != nil && len(problems) == 0 && !fresh(first):
		add(first.Reason, heldUp(first, now.Rollout), first.LastTransitionTime, members)
	}
	if scheduled.Status != metav1.ConditionTrue && !fresh(scheduled) {
		next := describe
		if scheduled.Reason == ReasonUnfulfilled {
			next = "flotilla why " + typed
		}
		add(scheduled.Reason, scheduled.Message, scheduled.LastTransitionTime, next)
	}
	return problems, converges(now)
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

// firstFailure names the first member and object that could not be applied, and how many more members
// there are.
func firstFailure(now *api.PlacementStatus) (api.Problem, bool) {
	for i := range now.PlacementStatuses {
		member := &now.PlacementStatuses[i]
		at := slices.IndexFunc(member.FailedPlacements, func(f api.FailedPlacement) bool { return f.Condition.Type == api.ConditionApplied })
		if at < 0 {
			continue
		}
		failed := &member.FailedPlacements[at]
		object := api.ObjectRef{Kind: failed.Kind, Namespace: failed.Namespace, Name: failed.Name}
		problem := api.Problem{Reason: ReasonFailed, Since: failed.Condition.LastTransitionTime}
		problem.Message = fmt.Sprintf("%s on member %s: %s", object, member.ClusterName, failed.Condition.Message)
		if more := now.Counts.Failed - 1; more > 0 {
			problem.Message += fmt.Sprintf(" (and %s)", phrase.Count(more, "more member"))
		}
		return problem, true
	}
	return api.Problem{}, false
}

// withheld is the condition of a placement of which a withdrawal is held; nil for any other.
func withheld(conditions []metav1.Condition) *metav1.Condition {
	at := slices.IndexFunc(conditions, func(c metav1.Condition) bool { return c.Reason == api.ReasonWithdrawalHeld })
	if at < 0 {
		return nil
	}
	return &conditions[at]
}

// firstProblem is the first condition that is not True: those after it only follow from it.
func firstProblem(conditions []metav1.Condition) *metav1.Condition {
	at := slices.IndexFunc(conditions, func(c metav1.Condition) bool { return c.Status != metav1.ConditionTrue })
	if at < 0 {
		return nil
	}
	return &conditions[at]
}

// Unconfirmed returns the problem of withdrawals that members have not confirmed for a while, of a placement that stays or,
// with gone, of one that is no more. Names of members are told as said makes them.
func Unconfirmed(release *api.Release, gone bool, said func(members []string) []string, now time.Time) []api.Problem {
	problem := api.Problem{
		Object: api.AuditObject(api.AuditPlacement, release.Placement), Reason: ReasonUnconfirmed, Next: "flotilla get members",
	}
	var members []string
	for i := range release.Entries {
		if entry := &release.Entries[i]; entry.Withdrawn && now.Sub(entry.Since.Time) >= patience {
			members = append(members, entry.Member)
			problem.Since = earliest(problem.Since, entry.Since)
		}
	}
	if len(members) == 0 {
		return nil
	}
	slices.Sort(members)
	problem.Message = "withdrawn, and not confirmed yet by " + phrase.Enumerate(said(members))
	if gone {
		problem.Message = "deleted, " + problem.Message
	}
	return []api.Problem{problem}
}
