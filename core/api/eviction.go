package api

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The kinds about taking a placement off a member.
const (
	KindEviction         = "ClusterResourcePlacementEviction"
	KindDisruptionBudget = "ClusterResourcePlacementDisruptionBudget"
)

// ClusterResourcePlacementEviction asks once that a placement leaves a member. Shape from KubeFleet,
// placement.kubernetes-fleet.io/v1 and v1beta1.
type ClusterResourcePlacementEviction struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec   PlacementEvictionSpec    `json:"spec"`
	Status *PlacementEvictionStatus `json:"status,omitempty"`
}

// PlacementEvictionSpec says which ClusterResourcePlacement is to leave which member. It never changes.
type PlacementEvictionSpec struct {
	PlacementName string `json:"placementName"`
	ClusterName   string `json:"clusterName"`
}

// PlacementEvictionStatus says what became of an eviction.
type PlacementEvictionStatus struct {
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Conditions of an eviction; Executed is there only where Valid is True.
const (
	EvictionValid    = "Valid"
	EvictionExecuted = "Executed"
)

// Reasons of the conditions of an eviction.
const (
	ReasonEvictionValid       = "ClusterResourcePlacementEvictionValid"
	ReasonEvictionInvalid     = "ClusterResourcePlacementEvictionInvalid"
	ReasonEvictionExecuted    = "ClusterResourcePlacementEvictionExecuted"
	ReasonEvictionNotExecuted = "ClusterResourcePlacementEvictionNotExecuted"
)

// ClusterResourcePlacementDisruptionBudget bounds what evictions take from the ClusterResourcePlacement of its name.
// Shape from KubeFleet, placement.kubernetes-fleet.io/v1 and v1beta1.
type ClusterResourcePlacementDisruptionBudget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec PlacementDisruptionBudgetSpec `json:"spec"`
}

// PlacementDisruptionBudgetSpec has one of its fields: a number of members, or a percentage, rounded up, of those that a
// PickN wants.
type PlacementDisruptionBudgetSpec struct {
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	MinAvailable   *intstr.IntOrString `json:"minAvailable,omitempty"`
}

// EvictionRecord is the record eviction.<eviction>, written by the scheduler alone, once: what became of the eviction
// with that uid. One that takes a binding away is written together with the schedule that no longer has it.
type EvictionRecord struct {
	Header
	Eviction string `json:"eviction"`
	UID      string `json:"uid"`
	PlacementEvictionStatus
}

// TaintDrain is the value of the taint TaintCordoned on a member that gives up what placements have on it.
const TaintDrain = "drain"

// Draining says that taints of a member ask it to give up what placements have on it. No toleration helps against that.
func Draining(taints []Taint) bool {
	for i := range taints {
		if taints[i].Draining() {
			return true
		}
	}
	return false
}

// Draining says that this is the taint of a member that is drained.
func (t *Taint) Draining() bool { return t.Key == TaintCordoned && t.Value == TaintDrain }

// WithTaint are taints with one more, in the place of the first of the same key; the order of the others is kept.
func WithTaint(taints []Taint, t Taint) []Taint {
	at := slices.IndexFunc(taints, func(o Taint) bool { return o.Key == t.Key })
	out := WithoutTaint(taints, t.Key)
	if at < 0 {
		at = len(out)
	}
	return slices.Insert(out, at, t)
}

// WithoutTaint are taints without those of a key. It is never nil.
func WithoutTaint(taints []Taint, key string) []Taint {
	return slices.DeleteFunc(append([]Taint{}, taints...), func(o Taint) bool { return o.Key == key })
}

// MemberDrain is how far a member has come that is drained. Placements are the first of those that are not away, by name; the
// numbers are of all.
type MemberDrain struct {
	Leaving    int                `json:"leaving"`
	Waits      int                `json:"waits"`
	Stays      int                `json:"stays"`
	Placements []DrainedPlacement `json:"placements,omitempty"`
}

// DrainedPlacement is a placement, "web" or "shop/web", on a member that is drained: Leaving, Waits or Stays.
type DrainedPlacement struct {
	Placement string `json:"placement"`
	Stage     string `json:"stage"`
	Reason    string `json:"reason,omitempty"`
}

// MaxDrainedPlacements is how many placements a MemberDrain lists, and MaxHolds how many holds a FleetStatus.
const (
	MaxDrainedPlacements = 100
	MaxHolds             = 100
)

// MemberHold says who has a hold of a member, and may take workloads away there now: "run spring", "node disruption",
// "eviction of web", "drain of web", "rollout of web".
type MemberHold struct {
	Member string      `json:"member"`
	Holder string      `json:"holder"`
	Since  metav1.Time `json:"since,omitzero"`
}
