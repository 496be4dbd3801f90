package overview

import (
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// shownHeldUp is of how many members a row says that they hold a rollout up.
const shownHeldUp = 3

// PlacementOf is the row of a placement with that status.
func PlacementOf(p *api.Placement, status *api.PlacementStatus) Placement {
	row := Placement{
		Key: p.Key(), Kind: p.Kind, Namespace: p.Namespace, Name: p.Name, Type: string(p.Spec.Policy.Type()), Created: p.CreationTimestamp,
		Edition: Edition{Generation: p.Generation, Observed: status.ObservedGeneration}, Counts: status.Counts,
		Hold: Hold{Deleting: p.DeletionTimestamp != nil, Paused: status.Paused, Pinned: status.Pinned}, Progress: Progress{Checks: status.Checks},
	}
	row.Snapshot, _ = strconv.ParseInt(status.ObservedSnapshot, 10, 64)
	if status.Paused != nil {
		row.Frozen = status.Paused.Frozen
	}
	if r := status.Rollout; r != nil {
		row.Waits, row.HeldUpTotal = r.Message, r.HeldUpTotal
		row.HeldUpBy = r.HeldUpBy[:min(len(r.HeldUpBy), shownHeldUp)]
	}
	row.Held = slices.ContainsFunc(status.Conditions, func(c metav1.Condition) bool { return c.Reason == api.ReasonWithdrawalHeld })
	row.State = StateOf(p.Kind, status.Conditions)
	if at := telling(status.Conditions); at != nil {
		row.Since = at.LastTransitionTime
		if at.Status != metav1.ConditionTrue {
			row.Message = at.Message
		}
	}
	row.Sign = row.sign(status)
	return row
}

// Complete adds what a status without the entries of members does not say, from a row that was made with them. They may be of
// two moments, of which neither is to look better than it was: the worse sign holds.
func (p *Placement) Complete(whole *Placement) {
	p.Sign, p.HeldUpBy, p.Fault = max(p.Sign, whole.Sign), whole.HeldUpBy, whole.Fault
}

// Unreadable is the row of a placement whose spec cannot be read.
func Unreadable(key string, spec *api.Spec, err error) Placement {
	return Placement{
		Key: key, Kind: spec.Object.Kind, Namespace: spec.Object.Namespace, Name: spec.Object.Name, Created: spec.Created,
		Edition: Edition{Generation: spec.Generation}, Sign: Bad, State: "Readable=False", Fault: err.Error(), Hold: Hold{Deleting: spec.Deleted != nil},
	}
}

// StateOf is the state of an object in one word, as tables show it: its first condition that is not True with its status,
// "Applied=False", else its last one; "-" without any. Those of placements go without the kind before their names.
func StateOf(kind string, conditions []metav1.Condition) string {
	at := telling(conditions)
	if at == nil {
		return "-"
	}
	name := at.Type
	if kind == api.KindClusterResourcePlacement || kind == api.KindResourcePlacement {
		name = strings.TrimPrefix(name, kind)
	}
	if at.Status != metav1.ConditionTrue {
		return name + "=" + string(at.Status)
	}
	return name
}

// telling is the first condition that is not True, else the last one; nil without any.
func telling(conditions []metav1.Condition) *metav1.Condition {
	at := slices.IndexFunc(conditions, func(c metav1.Condition) bool { return c.Status != metav1.ConditionTrue })
	if at < 0 {
		at = len(conditions) - 1
	}
	if at < 0 {
		return nil
	}
	return &conditions[at]
}

// sign judges a placement. One whose members are all silent is Away, one of which some are a warning.
func (p *Placement) sign(status *api.PlacementStatus) Sign {
	worst := Well
	silent := 0
	for i := range status.PlacementStatuses {
		sign := SignOfEntry(status.PlacementStatuses[i].State)
		if sign == Away {
			silent, sign = silent+1, Warn
		}
		worst = max(worst, sign)
	}
	switch {
	case silent > 0 && silent == p.Counts.Picked:
		return Away
	case stopped(status.Conditions):
		worst = Bad
	case p.Counts.Failed > 0:
		worst = Bad
	}
	return max(worst, p.course(status))
}

// course is how a placement does apart from what its members say.
func (p *Placement) course(status *api.PlacementStatus) Sign {
	undone := status.Rollout != nil && !status.Rollout.Complete
	switch at := telling(status.Conditions); {
	case p.Counts.Drifted > 0, p.Counts.Differing > 0:
		return Warn
	case at == nil:
		return Waiting
	case at.Status == metav1.ConditionFalse && strings.HasSuffix(at.Type, api.ConditionScheduled):
		return Warn
	case p.Held, p.Paused != nil && undone:
		return Waiting
	case p.Deleting, at.Status != metav1.ConditionTrue, undone, p.Observed < p.Generation:
		return Moving
	}
	return Well
}

// stopped says that a rollout does not go on by itself.
func stopped(conditions []metav1.Condition) bool {
	return slices.ContainsFunc(conditions, func(c metav1.Condition) bool {
		return c.Status == metav1.ConditionFalse && strings.HasSuffix(c.Type, api.ConditionRolloutProgressing)
	})
}
