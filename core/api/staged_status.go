package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ContentRun is what only runs of content keep in their record.
type ContentRun struct {
	// Kind is that of the run.
	Kind string `json:"kind"`
	// Placement is the key of the placement, PlacementUID its uid.
	Placement    string `json:"placement"`
	PlacementUID string `json:"placementUID"`
	// Snapshot is the index of what goes out, Policy the digest of the policy by which its members were picked.
	Snapshot int64  `json:"snapshot"`
	Policy   string `json:"policy"`
	// Strategy is the copy this run follows.
	Strategy StagedUpdateStrategySpec `json:"strategy"`
	// Check names the RolloutCheck that has to hold after each stage, empty for none.
	Check string `json:"check,omitempty"`
	// Windows says that members begin in their maintenance windows alone, but for those that go back.
	Windows bool `json:"windows,omitempty"`
	// RollBack is set once checks failed and members go back, in the order of the stages reversed.
	RollBack *ContentRollBack `json:"rollBack,omitempty"`
	// Followed is the state of the spec that was done as asked.
	Followed string `json:"followed,omitempty"`
}

// ContentRollBack says why a run takes members back to what they had.
type ContentRollBack struct {
	Message string      `json:"message"`
	Since   metav1.Time `json:"since"`
}

// DeleteStage is the name of the last stage of a run of content, of members that hold the placement and are not picked.
const DeleteStage = "kubernetes-fleet.io/deleteStage"

// Reason codes of members of runs of content, beside those of upgrades.
const (
	ReasonNoLongerPicked   = "NoLongerPicked"
	ReasonPolicyChanged    = "PolicyChanged"
	ReasonUpdateRunStuck   = "UpdateRunStuck"
	ReasonContentReleased  = "ContentReleased"
	ReasonContentAvailable = "ContentAvailable"
	ReasonContentWithdrawn = "ContentWithdrawn"
	ReasonNotAwaited       = "NotAwaited"
	ReasonChecksFailed     = "ChecksFailed"
)

// UnderWay says that a run may start members, or waits for some that it started.
func (s *UpdateRunStatus) UnderWay() bool {
	return s.Status.State.Active() || s.Status.State == StateStopping
}

// StagedUpdateRunStatus is the status of a staged run as users read it: KubeFleet's beside the tree.
type StagedUpdateRunStatus struct {
	UpdateRunStatus `json:",inline"`
	StagedConditions
}

// StagedConditions is the status of a staged run in KubeFleet's shape.
type StagedConditions struct {
	PolicySnapshotIndexUsed   string                    `json:"policySnapshotIndexUsed,omitempty"`
	PolicyObservedMemberCount int                       `json:"policyObservedClusterCount,omitempty"`
	ResourceSnapshotIndexUsed string                    `json:"resourceSnapshotIndexUsed,omitempty"`
	StrategySnapshot          *StagedUpdateStrategySpec `json:"stagedUpdateStrategySnapshot,omitempty"`
	StagesStatus              []ContentStageStatus      `json:"stagesStatus,omitempty"`
	DeletionStageStatus       *ContentStageStatus       `json:"deletionStageStatus,omitempty"`
	Conditions                []metav1.Condition        `json:"conditions,omitempty"`
}

// ContentStageStatus is one stage in KubeFleet's shape.
type ContentStageStatus struct {
	StageName             string                `json:"stageName"`
	Clusters              []ContentMemberStatus `json:"clusters"`
	BeforeStageTaskStatus []StageTaskStatus     `json:"beforeStageTaskStatus,omitempty"`
	AfterStageTaskStatus  []StageTaskStatus     `json:"afterStageTaskStatus,omitempty"`
	StartTime             metav1.Time           `json:"startTime,omitzero"`
	EndTime               metav1.Time           `json:"endTime,omitzero"`
	Conditions            []metav1.Condition    `json:"conditions,omitempty"`
}

// ContentMemberStatus is one member of a stage in KubeFleet's shape.
type ContentMemberStatus struct {
	ClusterName string             `json:"clusterName"`
	Conditions  []metav1.Condition `json:"conditions,omitempty"`
}

// StageTaskStatus is one task of a stage in KubeFleet's shape.
type StageTaskStatus struct {
	Type                string             `json:"type"`
	ApprovalRequestName string             `json:"approvalRequestName,omitempty"`
	Conditions          []metav1.Condition `json:"conditions,omitempty"`
}
