package status

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// chain finds the conditions of one member, in their order, up to the first that is not True.
func (e *evaluation) chain(v *view) []finding {
	var out []finding
	finders := []func(*view) finding{e.scheduled, e.rolloutStarted, e.overridden, e.synchronized, e.applied, e.available}
	if e.reportsDiff() {
		finders = append(finders[:4], e.diffReported)
	}
	for _, find := range finders {
		f := find(v)
		out = append(out, f)
		if f.status != metav1.ConditionTrue {
			break
		}
	}
	return out
}

// reach is the place of the last condition of a member's chain, and its status, as chain finds them.
func (e *evaluation) reach(v *view) (place int, status metav1.ConditionStatus) {
	finders := [places]func(*view) metav1.ConditionStatus{statusScheduled, statusStarted, statusOverridden, statusSynchronized, statusApplied, statusAvailable}
	of := len(finders)
	if e.reportsDiff() {
		finders[4], of = statusReported, 5
	}
	for place, find := range finders[:of] {
		if status = find(v); status != metav1.ConditionTrue || place == of-1 {
			return place, status
		}
	}
	return place, status
}

func statusScheduled(v *view) metav1.ConditionStatus {
	if v.binding.Waiting {
		return metav1.ConditionFalse
	}
	return metav1.ConditionTrue
}

func statusStarted(v *view) metav1.ConditionStatus {
	switch {
	case v.current, v.refused:
		return metav1.ConditionTrue
	case v.held != "":
		return metav1.ConditionFalse
	}
	return metav1.ConditionUnknown
}

func statusSynchronized(v *view) metav1.ConditionStatus {
	switch {
	case v.result != nil:
		return metav1.ConditionTrue
	case v.offline():
		return metav1.ConditionUnknown
	}
	return metav1.ConditionFalse
}

func statusApplied(v *view) metav1.ConditionStatus {
	status, _ := appliedOf(v.result)
	if status != metav1.ConditionTrue && v.offline() {
		return metav1.ConditionUnknown
	}
	return status
}

func statusAvailable(v *view) metav1.ConditionStatus {
	if v.offline() {
		return metav1.ConditionUnknown
	}
	status, _ := availableOf(v.result)
	return status
}

func statusReported(v *view) metav1.ConditionStatus {
	if v.offline() {
		return metav1.ConditionUnknown
	}
	status, _ := diffReportedOf(v.result)
	return status
}

// scheduled is False for a member that is listed but not eligible, and keeps its workload (D3, D22).
func (e *evaluation) scheduled(v *view) finding {
	f := finding{kind: api.ConditionScheduled, status: metav1.ConditionTrue, reason: reasonScheduled, message: v.binding.Reason}
	if v.binding.Waiting {
		f.status, f.reason = metav1.ConditionFalse, reasonScheduleFailed
	}
	if v.entry != nil {
		f.since = v.entry.Since.Time
	}
	return f
}

func (e *evaluation) rolloutStarted(v *view) finding {
	f := finding{kind: api.ConditionRolloutStarted}
	switch {
	case v.refused:
		f.status, f.reason, f.since = metav1.ConditionTrue, reasonRolloutStarted, e.refusedSince(v)
		f.message = "the rollout has come to " + v.member
	case v.current:
		f.status, f.reason, f.since = metav1.ConditionTrue, reasonRolloutStarted, v.entry.Since.Time
		f.message = fmt.Sprintf("snapshot %d is released to %s", v.entry.Snapshot, v.member)
	case v.held != "":
		f.status, f.reason, f.message = metav1.ConditionFalse, reasonRolloutNotStarted, v.held
	default:
		f.status, f.reason = metav1.ConditionUnknown, reasonRolloutUnknown
		f.message = "whether " + v.member + " may have the newest snapshot is not decided yet"
	}
	return f
}

// synchronized is True once the member answered to what is released to it now.
func (e *evaluation) synchronized(v *view) finding {
	f := finding{kind: api.ConditionWorkSynchronized}
	switch {
	case v.result != nil:
		f.status, f.reason, f.since = metav1.ConditionTrue, reasonAllWorkSynced, v.result.Changed.Time
		f.message = fmt.Sprintf("%s has read snapshot %d", v.member, v.entry.Snapshot)
	case v.offline():
		f.status, f.reason, f.message = metav1.ConditionUnknown, reasonSyncUnknown, silence(v)
	default:
		f.status, f.reason = metav1.ConditionFalse, reasonSyncNotYet
		f.message = fmt.Sprintf("%s has not answered to snapshot %d yet", v.member, v.entry.Snapshot)
	}
	return f
}

func (e *evaluation) applied(v *view) finding {
	f := finding{kind: api.ConditionApplied, since: v.result.Changed.Time, message: v.result.AppliedMessage}
	f.status, f.reason = appliedOf(v.result)
	if f.status != metav1.ConditionTrue && v.offline() {
		f.silent(v, reasonApplyPending)
	}
	if f.message == "" {
		f.message = appliedText(f.status, v)
	}
	return f
}

// appliedOf reads Applied from a result. In progress is Unknown, not False.
func appliedOf(r *api.PlacementResult) (metav1.ConditionStatus, string) {
	if r.AppliedReason == reasonApplyInProgress || r.AppliedReason == reasonApplyPending {
		return metav1.ConditionUnknown, reasonApplyInProgress
	}
	return answered(r.Applied, r.AppliedReason, reasonAllApplied, reasonNotAllApplied, reasonApplyInProgress)
}

// answered reads one answer of a result: True or False with the reason that it gives, else with yes or no; anything
// else is open.
func answered(answer, reason, yes, no, open string) (metav1.ConditionStatus, string) {
	switch answer {
	case "True":
		return metav1.ConditionTrue, orElse(reason, yes)
	case "False":
		return metav1.ConditionFalse, orElse(reason, no)
	}
	return metav1.ConditionUnknown, open
}

func appliedText(status metav1.ConditionStatus, v *view) string {
	switch status {
	case metav1.ConditionTrue:
		return fmt.Sprintf("all %d objects are applied", v.result.Total)
	case metav1.ConditionFalse:
		return fmt.Sprintf("%d of %d objects could not be applied", v.result.Failed, v.result.Total)
	}
	return fmt.Sprintf("applying %d objects", v.result.Total)
}

// available is Unknown for a member without heartbeat, whatever it said last: that is in the message.
func (e *evaluation) available(v *view) finding {
	f := finding{kind: api.ConditionAvailable, since: v.result.Changed.Time, message: v.result.AvailableMessage}
	f.status, f.reason = availableOf(v.result)
	if v.offline() {
		f.silent(v, reasonAvailableUnknown)
	}
	if f.message == "" {
		f.message = availableText(f.status, v)
	}
	return f
}

func availableOf(r *api.PlacementResult) (metav1.ConditionStatus, string) {
	return answered(r.Available, r.AvailableReason, reasonAllAvailable, reasonNotAllAvailable, reasonAvailableUnknown)
}

func availableText(status metav1.ConditionStatus, v *view) string {
	switch status {
	case metav1.ConditionTrue:
		return fmt.Sprintf("all %d objects are available", v.result.Total)
	case metav1.ConditionFalse:
		return fmt.Sprintf("%d of %d objects are not available yet", v.result.Failed, v.result.Total)
	}
	return "availability is not known yet"
}

// silent makes a finding Unknown, for nobody hears of the member.
func (f *finding) silent(v *view, reason string) {
	f.status, f.reason, f.message, f.since = metav1.ConditionUnknown, reason, silence(v), time.Time{}
}

// silence says since when a member is not heard of, and what was last known of it.
func silence(v *view) string { return "no heartbeat from " + v.member + lastHeard(v) }

func lastHeard(v *view) string {
	text := ""
	if !v.state.LastSeen.IsZero() {
		text += " since " + v.state.LastSeen.UTC().Format(time.RFC3339)
	}
	if v.last == nil || v.last.Withdrawn {
		return text + "; nothing is known of this placement there"
	}
	return fmt.Sprintf("%s; last known: snapshot %d, %s", text, v.last.Snapshot, lastKnown(v.last))
}

func lastKnown(r *api.PlacementResult) string {
	switch applied, reason := appliedOf(r); {
	case applied != metav1.ConditionTrue:
		return reason
	case r.Available == "True":
		return "applied and available"
	}
	return "applied, not available"
}

func orElse(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}
