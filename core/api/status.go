package api

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PlacementStatus is the record status.<placement>, written by the reporter alone, and the status
// of a placement as users read it. PlacementStatuses holds the first 100 members in trouble in the
// record; reads through the api render all of them on demand.
type PlacementStatus struct {
	Header             `json:",inline"`
	Placement          string               `json:"placement,omitempty"`
	UID                string               `json:"uid,omitempty"`
	ObservedGeneration int64                `json:"observedGeneration,omitempty"`
	ObservedSnapshot   string               `json:"observedResourceIndex,omitempty"`
	Conditions         []metav1.Condition   `json:"conditions,omitempty"`
	Counts             PlacementCounts      `json:"counts"`
	PlacementStatuses  []PerMemberStatus    `json:"placementStatuses,omitempty"`
	SelectedResources  []ResourceIdentifier `json:"selectedResources,omitempty"`
	// SelectedTotal is the true number when SelectedResources was cut.
	SelectedTotal int `json:"selectedTotal,omitempty"`
	// Unconfirmed lists the first 100 members that have not confirmed a withdrawal, Withdrawals says more
	// of them.
	Unconfirmed []string     `json:"unconfirmed,omitempty"`
	Withdrawals []Withdrawal `json:"withdrawals,omitempty"`
	// Rollout is nil while there is nothing to roll out.
	Rollout *Rollout `json:"rollout,omitempty"`
	// Paused says that no member moves, Pinned that members stay with an earlier revision than the placement selects; nil
	// for most.
	Paused *Pause `json:"paused,omitempty"`
	Pinned *Pin   `json:"pinned,omitempty"`
	// Checks is how the newest snapshot does under its RolloutCheck; nil where it goes out under none.
	Checks *CheckStatus `json:"checks,omitempty"`
	// Mark and Alarms are for the next aggregate; users are not shown them.
	Mark   *RolloutMark `json:"mark,omitempty"`
	Alarms []Alarm      `json:"alarms,omitempty"`
}

// PlacementCounts counts members.
type PlacementCounts struct {
	Want      int `json:"want"` // -1 when the policy wants every member that fits
	Picked    int `json:"picked"`
	Current   int `json:"current"` // released to the newest snapshot
	Applied   int `json:"applied"`
	Available int `json:"available"`
	Failed    int `json:"failed"`
	Drifted   int `json:"drifted"`
	// Corrected counts members on which objects were changed of late and written over.
	Corrected int `json:"corrected,omitempty"`
	// Differing counts members on which objects differ and are left so.
	Differing int `json:"differing,omitempty"`
	// Unconfirmed counts members that have not confirmed a withdrawal.
	Unconfirmed int `json:"unconfirmed,omitempty"`
}

// ResourceIdentifier is one selected object.
type ResourceIdentifier struct {
	Group     string `json:"group,omitempty"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
	// Envelope is what the object lies in on the hub; zero when it stands there by itself.
	Envelope EnvelopeIdentifier `json:"envelope,omitzero"`
}

// EnvelopeIdentifier names an envelope by its kind.
type EnvelopeIdentifier struct {
	Name      string `json:"name"`
	Namespace string `json:"namespace,omitempty"`
	Type      string `json:"type"`
}

// Identifier is the reference as statuses show it.
func (r ObjectRef) Identifier() ResourceIdentifier {
	group, version := SplitAPIVersion(r.APIVersion)
	return ResourceIdentifier{Group: group, Version: version, Kind: r.Kind, Name: r.Name, Namespace: r.Namespace}
}

// Identifier is the object as statuses show it, with what it lies in.
func (m *Manifest) Identifier() ResourceIdentifier {
	found := m.ObjectRef.Identifier()
	found.Envelope = envelopeOf(m.Envelope)
	return found
}

// envelopeOf reads "Kind/name" or "Kind/namespace/name".
func envelopeOf(name string) (e EnvelopeIdentifier) {
	e.Type, e.Name, _ = strings.Cut(name, "/")
	if namespace, below, found := strings.Cut(e.Name, "/"); found {
		e.Namespace, e.Name = namespace, below
	}
	return e
}

// PerMemberStatus is the state of one binding, or, without a member name, of one that is missing.
type PerMemberStatus struct {
	ClusterName           string `json:"clusterName,omitempty"`
	ObservedResourceIndex string `json:"observedResourceIndex,omitempty"`
	// ApplicableClusterResourceOverrides and ApplicableResourceOverrides are those that what is released to the member was
	// made with.
	ApplicableClusterResourceOverrides []string             `json:"applicableClusterResourceOverrides,omitempty"`
	ApplicableResourceOverrides        []NamespacedOverride `json:"applicableResourceOverrides,omitempty"`
	// State is one of the Entry constants, Since when it came to be, and Message what keeps the member from
	// being Available.
	State            string             `json:"state,omitempty"`
	Since            metav1.Time        `json:"since,omitzero"`
	Message          string             `json:"message,omitempty"`
	Conditions       []metav1.Condition `json:"conditions,omitempty"`
	FailedPlacements []FailedPlacement  `json:"failedPlacements,omitempty"`
	// DiffedPlacements are objects that differ and are left so, by ReportDiff or because nothing but a full
	// comparison finds the difference.
	DiffedPlacements []DiffedPlacement `json:"diffedPlacements,omitempty"`
}

// NamespacedOverride is a ResourceOverride, with its generation.
type NamespacedOverride struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// DiffedPlacement is one object on one member that is not as it is wanted.
type DiffedPlacement struct {
	ResourceIdentifier `json:",inline"`
	ObservedDiffs      []Difference `json:"observedDiffs"`
	// Total counts differences when not all are listed.
	Total int `json:"total,omitempty"`
}

// FailedPlacement is one object in trouble on one member.
type FailedPlacement struct {
	ResourceIdentifier `json:",inline"`
	Condition          metav1.Condition `json:"condition"`
}

// Condition types of a placement are prefixed with its kind's name, those of a member's entry are
// not.
const (
	ConditionScheduled        = "Scheduled"
	ConditionRolloutStarted   = "RolloutStarted"
	ConditionOverridden       = "Overridden"
	ConditionWorkSynchronized = "WorkSynchronized"
	ConditionApplied          = "Applied"
	ConditionAvailable        = "Available"
	// ConditionDiffReported takes the place of the last two where the strategy is ReportDiff.
	ConditionDiffReported = "DiffReported"
	// ConditionWithdrawalHeld is of the placement alone too, and there only while it is True.
	ConditionWithdrawalHeld = "WithdrawalHeld"
	// ConditionRolloutProgressing is of the placement alone, and no part of the chain of the others.
	ConditionRolloutProgressing = "RolloutProgressing"
)
