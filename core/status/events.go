package status

import (
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// EventCompleted tells that every condition is True.
const EventCompleted = "PlacementRolloutCompleted"

// turned names the event of a condition that turned True; KubeFleet's names.
var turned = []struct{ condition, event string }{
	{api.ConditionRolloutStarted, "PlacementRolloutStarted"},
	{api.ConditionOverridden, "PlacementOverriddenSucceeded"},
	{api.ConditionWorkSynchronized, "PlacementWorkSynchronized"},
	{api.ConditionApplied, "PlacementApplied"},
	{api.ConditionAvailable, "PlacementAvailable"},
	{api.ConditionDiffReported, "PlacementDiffReported"},
}

// troubling are the reasons that are told as warnings when a condition comes to have them. Members that
// cannot apply are told of by alarms.
var troubling = map[string]bool{
	reasonPolicyUnfulfilled: true, reasonInvalidSelectors: true, reasonDeadlineExceeded: true,
	reasonOverriddenFailed: true,
}

// Events are what turned between two records of a placement: conditions that became True, with the
// rollout's completion last, and troubles that came up, each once however long it lasts. A new snapshot makes every condition but
// Scheduled turn again. Previous is nil for the first record.
func Events(previous *api.PlacementStatus, current api.PlacementStatus, now time.Time) []api.Audit {
	if previous != nil && previous.UID != current.UID {
		previous = nil
	}
	var out []api.Audit
	tellOf := func(kind, reason, message, member string) {
		out = append(out, api.Audit{
			Header: api.NewHeader(api.KindAudit), At: metav1.NewTime(now).Rfc3339Copy(),
			Object: api.AuditObject(api.AuditPlacement, current.Placement), Type: kind, Reason: reason, Message: message, By: "reporter", Member: member,
		})
	}
	tell := func(kind, reason, message string) { tellOf(kind, reason, message, "") }
	for _, t := range turned {
		c := find(current.Conditions, t.condition)
		if isTrue(c) && !wasTrue(previous, current.ObservedSnapshot, t.condition) {
			tell("Normal", t.event, c.Message)
		}
	}
	if completed(&current) && (previous == nil || previous.ObservedSnapshot != current.ObservedSnapshot || !completed(previous)) {
		tell("Normal", EventCompleted, "snapshot "+current.ObservedSnapshot+": "+ended(&current).Message)
		out[len(out)-1].Snapshot, _ = strconv.ParseInt(current.ObservedSnapshot, 10, 64) // 0 when several are out
	}
	for i := range current.Conditions {
		c := &current.Conditions[i]
		before := reasonOf(previous, c.Type)
		switch {
		case troubling[c.Reason] && before != c.Reason:
			tellOf("Warning", c.Reason, c.Message, onlyHolder(&current, c.Reason))
		case before == reasonDeadlineExceeded && c.Status == metav1.ConditionTrue:
			tell("Normal", c.Reason, c.Message)
		}
	}
	alarmEvents(previous, &current, tellOf)
	return out
}

// onlyHolder is the member that an event of a rollout that stands still is about, when it is one.
func onlyHolder(st *api.PlacementStatus, reason string) string {
	if reason != reasonDeadlineExceeded || st.Rollout == nil || st.Rollout.HeldUpTotal != 1 {
		return ""
	}
	return st.Rollout.HeldUpBy[0].ClusterName
}

func find(conditions []metav1.Condition, suffix string) *metav1.Condition {
	for _, kind := range []string{api.KindClusterResourcePlacement, api.KindResourcePlacement} {
		for i := range conditions {
			if conditions[i].Type == kind+suffix {
				return &conditions[i]
			}
		}
	}
	return nil
}

func isTrue(c *metav1.Condition) bool { return c != nil && c.Status == metav1.ConditionTrue }

func wasTrue(previous *api.PlacementStatus, snapshot, condition string) bool {
	return previous != nil && previous.ObservedSnapshot == snapshot && isTrue(find(previous.Conditions, condition))
}

// completed says that the placement is scheduled as wished and available, or compared.
func completed(st *api.PlacementStatus) bool {
	return isTrue(find(st.Conditions, api.ConditionScheduled)) && isTrue(ended(st))
}

// ended is the condition that the chain of a placement ends with, nil before it gets there.
func ended(st *api.PlacementStatus) *metav1.Condition {
	if reported := find(st.Conditions, api.ConditionDiffReported); reported != nil {
		return reported
	}
	return find(st.Conditions, api.ConditionAvailable)
}

func reasonOf(st *api.PlacementStatus, kind string) string {
	if st == nil {
		return ""
	}
	for i := range st.Conditions {
		if st.Conditions[i].Type == kind {
			return st.Conditions[i].Reason
		}
	}
	return ""
}
