package status

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// Same says that two records of a placement say the same: written as JSON they are equal.
func Same(a, b *api.PlacementStatus) bool {
	return a.Header == b.Header && a.Placement == b.Placement && a.UID == b.UID &&
		a.ObservedGeneration == b.ObservedGeneration && a.ObservedSnapshot == b.ObservedSnapshot &&
		a.Counts == b.Counts && a.SelectedTotal == b.SelectedTotal &&
		slices.EqualFunc(a.Conditions, b.Conditions, sameCondition) &&
		slices.EqualFunc(a.PlacementStatuses, b.PlacementStatuses, sameEntry) &&
		slices.Equal(a.SelectedResources, b.SelectedResources) &&
		slices.Equal(a.Unconfirmed, b.Unconfirmed) &&
		slices.EqualFunc(a.Withdrawals, b.Withdrawals, sameWithdrawal) &&
		samePointed(a.Rollout, b.Rollout, sameRollout) &&
		sameSteering(a, b) &&
		samePointed(a.Mark, b.Mark, sameMark) &&
		slices.EqualFunc(a.Alarms, b.Alarms, sameAlarm)
}

func samePointed[T any](a, b *T, same func(a, b T) bool) bool {
	if a == nil || b == nil {
		return a == b
	}
	return same(*a, *b)
}

// sameTime compares moments, wherever their clocks hang.
func sameTime(a, b *metav1.Time) bool { return a.Time.Equal(b.Time) }

func sameCondition(a, b metav1.Condition) bool {
	same := sameTime(&a.LastTransitionTime, &b.LastTransitionTime)
	a.LastTransitionTime, b.LastTransitionTime = metav1.Time{}, metav1.Time{}
	return same && a == b
}

func sameEntry(a, b api.PerMemberStatus) bool {
	return a.ClusterName == b.ClusterName && a.ObservedResourceIndex == b.ObservedResourceIndex &&
		a.State == b.State && a.Message == b.Message && sameTime(&a.Since, &b.Since) &&
		slices.EqualFunc(a.Conditions, b.Conditions, sameCondition) &&
		slices.EqualFunc(a.FailedPlacements, b.FailedPlacements, sameFailed) &&
		slices.Equal(a.ApplicableClusterResourceOverrides, b.ApplicableClusterResourceOverrides) &&
		slices.Equal(a.ApplicableResourceOverrides, b.ApplicableResourceOverrides) &&
		slices.EqualFunc(a.DiffedPlacements, b.DiffedPlacements, sameDiffed)
}

func sameFailed(a, b api.FailedPlacement) bool {
	return a.ResourceIdentifier == b.ResourceIdentifier && sameCondition(a.Condition, b.Condition)
}

func sameDiffed(a, b api.DiffedPlacement) bool {
	return a.ResourceIdentifier == b.ResourceIdentifier && a.Total == b.Total && slices.Equal(a.ObservedDiffs, b.ObservedDiffs)
}

func sameWithdrawal(a, b api.Withdrawal) bool {
	return a.ClusterName == b.ClusterName && a.State == b.State && a.Message == b.Message &&
		sameTime(&a.Since, &b.Since) && sameTime(&a.StateSince, &b.StateSince) && sameTime(&a.LastSeen, &b.LastSeen)
}

func sameRollout(a, b api.Rollout) bool {
	return a.Snapshot == b.Snapshot && a.Complete == b.Complete && a.Message == b.Message && a.HeldUpTotal == b.HeldUpTotal && a.Guarded == b.Guarded &&
		sameTime(&a.Since, &b.Since) && samePointed(a.Deadline, b.Deadline, func(a, b metav1.Time) bool { return sameTime(&a, &b) }) &&
		slices.EqualFunc(a.HeldUpBy, b.HeldUpBy, sameHeldUp)
}

func sameHeldUp(a, b api.HeldUp) bool {
	same := sameTime(&a.Since, &b.Since)
	a.Since, b.Since = metav1.Time{}, metav1.Time{}
	return same && a == b
}

func sameSteering(a, b *api.PlacementStatus) bool {
	return samePointed(a.Paused, b.Paused, samePause) && samePointed(a.Pinned, b.Pinned, samePin) && samePointed(a.Checks, b.Checks, sameChecks)
}

func samePause(a, b api.Pause) bool {
	return a.By == b.By && a.Reason == b.Reason && a.Frozen == b.Frozen && sameTime(&a.Since, &b.Since)
}

func samePin(a, b api.Pin) bool {
	return a.By == b.By && a.Revision == b.Revision && sameTime(&a.Since, &b.Since)
}

func sameMark(a, b api.RolloutMark) bool {
	same := sameTime(&a.Since, &b.Since)
	a.Since, b.Since = metav1.Time{}, metav1.Time{}
	return same && a == b
}

func sameAlarm(a, b api.Alarm) bool {
	return a.Reason == b.Reason && a.Message == b.Message && a.About == b.About && sameTime(&a.At, &b.At) && slices.Equal(a.Members, b.Members)
}
