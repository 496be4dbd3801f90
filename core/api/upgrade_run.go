package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// UpdateRun applies one upgrade to members in the order of a strategy. With neither
// Strategy nor StrategyName all members are upgraded one by one.
type UpdateRun struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec   UpdateRunSpec    `json:"spec"`
	Status *UpdateRunStatus `json:"status,omitempty"`
}

// UpdateRunSpec says what to upgrade to and in which order (A54).
type UpdateRunSpec struct {
	StrategyName string        `json:"strategyName,omitempty"`
	Strategy     *RunStrategy  `json:"strategy,omitempty"`
	Upgrade      Upgrade       `json:"upgrade"`
	Policy       *UpdatePolicy `json:"policy,omitempty"`
	// AutoUpgradeProfile names the profile that made the run; users cannot set it.
	AutoUpgradeProfile string `json:"autoUpgradeProfile,omitempty"`
}

// Upgrade types.
const (
	UpgradeFull             = "Full"             // control plane, node pools and images
	UpgradeControlPlaneOnly = "ControlPlaneOnly" // the control plane's version
	UpgradeNodeImageOnly    = "NodeImageOnly"    // images, versions unchanged
)

// Upgrade is the goal of a run.
type Upgrade struct {
	Type string `json:"type"`
	// KubernetesVersion is "1.29.9", or "1.29" for its newest patch; required unless NodeImageOnly.
	KubernetesVersion  string              `json:"kubernetesVersion,omitempty"`
	NodeImageSelection *NodeImageSelection `json:"nodeImageSelection,omitempty"`
}

// Node image selections.
const (
	ImagesLatest     = "Latest"     // newest of the member's region when its upgrade starts
	ImagesConsistent = "Consistent" // newest that all regions of the run have, fixed at first start
	ImagesCustom     = "Custom"     // the listed ones
)

// NodeImageSelection says which node images pools get; Latest by default.
type NodeImageSelection struct {
	Type                    string             `json:"type"`
	CustomNodeImageVersions []NodeImageVersion `json:"customNodeImageVersions,omitempty"`
}

// NodeImageVersion is one full image name, "AKSUbuntu-2204gen2containerd-202401.09.0".
type NodeImageVersion struct {
	Version string `json:"version"`
}

// Images returns the selection type with its default.
func (u *Upgrade) Images() string {
	if u.NodeImageSelection == nil || u.NodeImageSelection.Type == "" {
		return ImagesLatest
	}
	return u.NodeImageSelection.Type
}

// UpdateState is the state of a run, stage, group, member, gate or wait.
type UpdateState string

// The update states, the same at every level. Gates know NotStarted, Pending,
// Completed and Skipped only; waits NotStarted, Running, Completed and Skipped.
const (
	StateNotStarted UpdateState = "NotStarted"
	StateRunning    UpdateState = "Running"
	StatePending    UpdateState = "Pending"
	StateStopping   UpdateState = "Stopping"
	StateStopped    UpdateState = "Stopped"
	StateSkipped    UpdateState = "Skipped"
	StateFailed     UpdateState = "Failed"
	StateCompleted  UpdateState = "Completed"
)

// Done reports whether a stage, group, gate or wait in this state is behind us.
func (s UpdateState) Done() bool { return s == StateCompleted || s == StateSkipped }

// Terminal reports whether a member in this state needs nothing more: Completed, Skipped or Failed.
func (s UpdateState) Terminal() bool { return s.Done() || s == StateFailed }

// Active reports whether a run in this state may start members.
func (s UpdateState) Active() bool { return s == StateRunning || s == StatePending }

// Who skipped a member.
const (
	SkippedByUser   = "User"
	SkippedBySystem = "System"
)

// Reason codes of members. Those after ReasonPendingTimeout explain members that need
// no code of their own, and appear when a status is rendered.
const (
	ReasonWindowClosed        = "MaintenanceWindowClosed"
	ReasonKubernetesNotHere   = "KubernetesVersionNotAvailable"
	ReasonImageNotHere        = "NodeImageVersionNotAvailable"
	ReasonOperationInProgress = "OperationInProgress"
	ReasonFrozen              = "Frozen"
	ReasonLockedByRun         = "LockedByRun"
	ReasonMemberUnreachable   = "MemberUnreachable"
	ReasonMemberStopped       = "MemberStopped"
	ReasonPreflightBlocked    = "PreflightBlocked"
	ReasonAlreadyAtTarget     = "AlreadyAtTarget"
	ReasonAheadOfTarget       = "AheadOfTarget"
	ReasonLeftOut             = "LeftOut"
	ReasonConsistentNotFound  = "ConsistentImageNotFound"
	ReasonRegionNotWritten    = "RegionNotWritten"
	ReasonMinorVersionGap     = "MinorVersionGap"
	ReasonMemberRemoved       = "MemberRemoved"
	ReasonNoMatchingPools     = "NoMatchingPools"
	ReasonSkippedByUser       = "SkippedByUser"
	ReasonSkippedByGroup      = "SkippedByGroup"
	ReasonSkippedByStage      = "SkippedByStage"
	ReasonUpgradeFailed       = "UpgradeFailed"
	ReasonTimeout             = "Timeout"
	ReasonMinorSkipNotAllowed = "MinorVersionSkipNotAllowed"
	ReasonNodeSkewExceeded    = "NodeSkewExceeded"
	ReasonUnsupportedVersion  = "UnsupportedVersion"
	ReasonLtsRequired         = "LtsRequired"
	ReasonImageExpired        = "ImageExpired"
	ReasonHealthCheckFailed   = "HealthCheckFailed"
	ReasonAgentRejected       = "AgentRejected"
	ReasonPendingTimeout      = "PendingTimeout"
	ReasonThresholdExceeded   = "TooManyFailures"
	ReasonNotReached          = "NotReached"
	ReasonWaitsForGate        = "WaitsForGate"
	ReasonWaitsForSlot        = "WaitsForSlot"
	ReasonRunStopped          = "RunStopped"
	ReasonUpgradeInProgress   = "UpgradeInProgress"
	ReasonUpgradeSucceeded    = "UpgradeSucceeded"
)

// Types of skip targets.
const (
	TargetMember         = "Member"
	TargetGroup          = "Group"
	TargetStage          = "Stage"
	TargetAfterStageWait = "AfterStageWait"
)

// SkipTarget is one thing to skip. The name of an AfterStageWait is that of its stage.
type SkipTarget struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// Sets of members a rerun may choose.
const (
	RerunFailed          = "Failed"
	RerunSkippedByUser   = "SkippedByUser"
	RerunSkippedBySystem = "SkippedBySystem"
	RerunAll             = "All"
)

// Verbs on runs.
const (
	VerbRunStart    = "run-start"
	VerbRunStop     = "run-stop"
	VerbRunSkip     = "run-skip"
	VerbRunApprove  = "run-approve"
	VerbRunRerun    = "run-rerun"
	VerbRunGenerate = "run-generate"
)

// RunRequest asks for an operation on a run.
type RunRequest struct {
	Asked
	// Request is a random id; a repeat with the same id answers the first result.
	Request string `json:"request"`
	// Run is the run's name; for run-generate that of the AutoUpgradeProfile.
	Run string `json:"run"`
	// Targets of run-skip, all of them or none.
	Targets []SkipTarget `json:"targets,omitempty"`
	// Gate of run-approve: its id, or its path "stage/before/Approval".
	Gate string `json:"gate,omitempty"`
	// Members of run-rerun: names of members, and sets out of Failed, SkippedByUser, SkippedBySystem and All.
	Members []string `json:"members,omitempty"`
	// IncludeSkipped of run-start revives what users skipped.
	IncludeSkipped bool `json:"includeSkipped,omitempty"`
	// IgnoreMaintenanceWindows of run-start and run-rerun needs a Reason, which is kept.
	IgnoreMaintenanceWindows bool   `json:"ignoreMaintenanceWindows,omitempty"`
	Reason                   string `json:"reason,omitempty"`
	// ResourceVersion refuses the operation when the run changed since it was read.
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// RunOperation is what somebody may ask of a run: a verb above and its request, of which Run and Request do not count. Without a
// verb nothing is asked.
type RunOperation struct {
	Verb string     `json:"verb"`
	Ask  RunRequest `json:"ask"`
}

// RunResponse is the answer to an operation on a run.
type RunResponse struct {
	// Run is the run that was asked for, or that run-generate made or found.
	Run string `json:"run"`
	// State of the run once the operation was written.
	State UpdateState `json:"state"`
	// Next is the command that brings the run on from that state.
	Next string `json:"next,omitempty"`
	// Unchanged says that the run was already as asked.
	Unchanged bool     `json:"unchanged,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`
}
