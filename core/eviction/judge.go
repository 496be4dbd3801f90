package eviction

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/guard"
)

// What KubeFleet says of evictions.
const (
	saysNoPlacement = "Failed to find ClusterResourcePlacement targeted by eviction"
	saysDeleting    = "Found deleting ClusterResourcePlacement targeted by eviction"
	saysPickFixed   = "Found ClusterResourcePlacement with PickFixed placement type targeted by eviction"
	saysNoBinding   = "Failed to find scheduler decision for placement in cluster targeted by eviction"
	saysValid       = "Eviction is valid"

	saysLeaving   = "Eviction is allowed, resources propagated by placement is currently being removed from cluster targeted by eviction"
	saysNotPlaced = "Eviction is blocked, placement has not propagated resources to target cluster yet"
	saysFailed    = "Eviction is allowed, placement has failed"
	saysNoBudget  = "Eviction is allowed, no ClusterResourcePlacementDisruptionBudget specified"
	saysAllowed   = "Eviction is allowed by specified ClusterResourcePlacementDisruptionBudget, availablePlacements: %d, totalPlacements: %d"
	saysBlocked   = "Eviction is blocked by specified ClusterResourcePlacementDisruptionBudget, availablePlacements: %d, totalPlacements: %d"
	saysFrozen    = "Eviction is blocked, "
	saysUnfit     = "Eviction is blocked by misconfigured ClusterResourcePlacementDisruptionBudget, either MaxUnavailable is specified or MinAvailable is specified as a percentage for PickAll ClusterResourcePlacement"
)

// Verdict is what becomes of an eviction.
type Verdict struct {
	// Valid says that there is something to evict; Message says what is wrong where there is not.
	Valid bool
	// Executed says that the placement leaves the member, and Evicts that it does for this eviction: the binding is to go.
	Executed bool
	Evicts   bool
	Message  string
}

// Judge says what becomes of an eviction from a member, and counts the binding as going where it is evicted.
func (b *Book) Judge(member string) Verdict {
	if wrong := b.invalid(member); wrong != "" {
		return Verdict{Message: wrong}
	}
	one := b.find(member)
	switch one.state {
	case leaving:
		return Verdict{Valid: true, Executed: true, Message: saysLeaving}
	case scheduled:
		return Verdict{Valid: true, Message: saysNotPlaced}
	}
	allowed, message := b.allows(one)
	if allowed {
		one.take()
	}
	return Verdict{Valid: true, Executed: allowed, Evicts: allowed, Message: message}
}

// invalid says why there is nothing to evict, nothing where there is.
func (b *Book) invalid(member string) string {
	switch p := b.in.Placement; {
	case p == nil:
		return saysNoPlacement
	case p.DeletionTimestamp != nil:
		return saysDeleting
	case p.Spec.Policy.Type() == api.PickFixed:
		return saysPickFixed
	case b.find(member) == nil:
		return saysNoBinding
	}
	return ""
}

// allows says whether a binding may go now, and what lets it, or does not.
func (b *Book) allows(one *binding) (bool, string) {
	freeze := b.in.Freezes.On(api.FreezePlacements, one.member)
	switch {
	case freeze != nil:
		return false, saysFrozen + guard.Waits(freeze)
	case one.failed:
		return true, saysFailed
	case b.in.Budget == nil:
		return true, saysNoBudget
	case b.unfit():
		return false, saysUnfit
	}
	available, total := b.available(), len(b.bindings)
	if b.left() > 0 {
		return true, fmt.Sprintf(saysAllowed, available, total)
	}
	return false, fmt.Sprintf(saysBlocked, available, total) + b.unavailable()
}

// Conditions are those of an eviction of a generation that was judged at a time.
func (v *Verdict) Conditions(generation int64, at metav1.Time) []metav1.Condition {
	condition := func(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: generation, LastTransitionTime: at}
	}
	valid := condition(api.EvictionValid, metav1.ConditionTrue, api.ReasonEvictionValid, saysValid)
	switch {
	case !v.Valid:
		return []metav1.Condition{condition(api.EvictionValid, metav1.ConditionFalse, api.ReasonEvictionInvalid, v.Message)}
	case !v.Executed:
		return []metav1.Condition{valid, condition(api.EvictionExecuted, metav1.ConditionFalse, api.ReasonEvictionNotExecuted, v.Message)}
	}
	return []metav1.Condition{valid, condition(api.EvictionExecuted, metav1.ConditionTrue, api.ReasonEvictionExecuted, v.Message)}
}
