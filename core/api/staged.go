package api

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The kinds of staged runs of content: those outside namespaces are for a ClusterResourcePlacement, their twins for a
// ResourcePlacement of their namespace.
const (
	KindClusterStagedUpdateStrategy = "ClusterStagedUpdateStrategy"
	KindStagedUpdateStrategy        = "StagedUpdateStrategy"
	KindClusterStagedUpdateRun      = "ClusterStagedUpdateRun"
	KindStagedUpdateRun             = "StagedUpdateRun"
	KindClusterApprovalRequest      = "ClusterApprovalRequest"
	KindApprovalRequest             = "ApprovalRequest"
)

// Bounds of staged strategies, KubeFleet's.
const (
	MaxContentStages   = 31
	MaxContentAfter    = 2
	MaxContentTaskWait = 30 * 24 * 60 * 60 // seconds
)

// StagedUpdateStrategy is a ClusterStagedUpdateStrategy or a StagedUpdateStrategy: the stages in which a run brings
// content to members. Shape from KubeFleet, placement.kubernetes-fleet.io/v1 and v1beta1. A run keeps a copy.
type StagedUpdateStrategy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec StagedUpdateStrategySpec `json:"spec"`
}

// StagedUpdateStrategySpec lists the stages in their order.
type StagedUpdateStrategySpec struct {
	Stages []ContentStage `json:"stages"`
}

// ContentStage is a set of members that get content together.
type ContentStage struct {
	Name string `json:"name"`
	// LabelSelector nil selects no member, an empty one all of them.
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	// SortingLabelKey names a label that every member of the stage bears with an integer: the lesser one comes first.
	SortingLabelKey *string `json:"sortingLabelKey,omitempty"`
	// MaxConcurrency is a number of members, or a percentage of those of the stage, rounded down, at least 1; default 1.
	MaxConcurrency   *intstr.IntOrString `json:"maxConcurrency,omitempty"`
	BeforeStageTasks []StageTask         `json:"beforeStageTasks,omitempty"`
	AfterStageTasks  []StageTask         `json:"afterStageTasks,omitempty"`
}

// Types of the tasks of a stage.
const (
	TaskTimedWait = "TimedWait"
	TaskApproval  = "Approval"
)

// StageTask is what has to be over before a stage begins, or before the next one does.
type StageTask struct {
	Type string `json:"type"`
	// WaitTime of a TimedWait counts from when the members of the stage are done.
	WaitTime *metav1.Duration `json:"waitTime,omitempty"`
}

// StagedUpdateRun is a ClusterStagedUpdateRun or a StagedUpdateRun: it brings one snapshot of a placement of strategy
// External to its members. Shape from KubeFleet.
type StagedUpdateRun struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec   StagedUpdateRunSpec    `json:"spec"`
	Status *StagedUpdateRunStatus `json:"status,omitempty"`
}

// Key is the name that records of the run carry: "name", or "namespace/name".
func (r *StagedUpdateRun) Key() string { return Keyed(r.Namespace, r.Name) }

// Placement is the key of the placement that the run is for.
func (r *StagedUpdateRun) Placement() string { return Keyed(r.Namespace, r.Spec.PlacementName) }

// Strategy is the key of the strategy that the run follows.
func (r *StagedUpdateRun) Strategy() string { return Keyed(r.Namespace, r.Spec.StrategyName) }

// States that a user wants a staged run in.
const (
	RunInitialize = "Initialize"
	RunRun        = "Run"
	RunStop       = "Stop"
)

// StagedUpdateRunSpec says what goes where. All but State cannot change.
type StagedUpdateRunSpec struct {
	PlacementName string `json:"placementName"`
	// ResourceSnapshotIndex is the number of a snapshot that is kept; empty is the newest.
	ResourceSnapshotIndex string `json:"resourceSnapshotIndex,omitempty"`
	StrategyName          string `json:"stagedRolloutStrategyName"`
	State                 string `json:"state,omitempty"`
}

// ApprovalRequest is a ClusterApprovalRequest or an ApprovalRequest: an approval that a stage of a staged run waits for.
// The hub makes them of the gates of runs; whoever applies one with the condition Approved approves.
type ApprovalRequest struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec   ApprovalRequestSpec   `json:"spec"`
	Status ApprovalRequestStatus `json:"status,omitzero"`
}

// ApprovalRequestSpec names the run and the stage that wait.
type ApprovalRequestSpec struct {
	TargetUpdateRun string `json:"parentStageRollout"`
	TargetStage     string `json:"targetStage"`
}

// ApprovalRequestStatus holds the conditions Approved and ApprovalAccepted.
type ApprovalRequestStatus struct {
	Conditions []ApprovalCondition `json:"conditions,omitempty"`
}

// ApprovalCondition is a condition of which people may leave out all but what it is and its status.
type ApprovalCondition struct {
	Type               string                 `json:"type"`
	Status             metav1.ConditionStatus `json:"status"`
	ObservedGeneration int64                  `json:"observedGeneration,omitempty"`
	LastTransitionTime metav1.Time            `json:"lastTransitionTime,omitzero"`
	Reason             string                 `json:"reason,omitempty"`
	Message            string                 `json:"message,omitempty"`
}
