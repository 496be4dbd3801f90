package api

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Kinds of records and messages around upgrades.
const (
	KindRunStatus      = "UpdateRunStatus"
	KindProfileStatus  = "AutoUpgradeProfileStatus"
	KindUpgradeCommand = "UpgradeCommand"
	KindUpgradeResult  = "UpgradeResult"
	KindInventory      = "MemberInventory"
	KindLock           = "MemberLock"
)

// UpdateStatus is the state of one node of the status tree.
type UpdateStatus struct {
	State         UpdateState  `json:"state"`
	StartTime     metav1.Time  `json:"startTime,omitzero"`
	CompletedTime metav1.Time  `json:"completedTime,omitzero"`
	Error         *UpdateError `json:"error,omitempty"`
}

// UpdateError says why a node failed or stopped, with one detail for each member to blame.
type UpdateError struct {
	Code    string        `json:"code"`
	Message string        `json:"message"`
	Target  string        `json:"target,omitempty"`
	Details []UpdateError `json:"details,omitempty"`
}

// UpdateRunStatus is the record run.<name>, written by the runner alone, and the status of a run as
// users read it, and that of a staged run of content. It holds everything a restarted hub needs: absolute times, attempts, frozen
// versions, the frozen membership (the members of its groups) and the strategy as it was copied.
type UpdateRunStatus struct {
	Header `json:",inline"`
	Run    string `json:"run"`
	UID    string `json:"uid"`
	// ObservedGeneration is of the spec that was last copied into this record.
	ObservedGeneration int64        `json:"observedGeneration,omitempty"`
	Status             UpdateStatus `json:"status"`
	FailureCount       int          `json:"failureCount"`
	// Members counts all members of the run, Finished those that are terminal.
	Members  int           `json:"members"`
	Finished int           `json:"finished"`
	Stages   []StageStatus `json:"stages"`
	// ResolvedKubernetesVersion is the version without "v"; an alias is bound at the first start.
	ResolvedKubernetesVersion string `json:"resolvedKubernetesVersion,omitempty"`
	// NodeImageSelection holds what Consistent selected, frozen at the first start.
	NodeImageSelection *SelectedImages `json:"nodeImageSelection,omitempty"`
	// Strategy and Policy are the copies this run follows.
	Strategy RunStrategy  `json:"strategy"`
	Policy   UpdatePolicy `json:"policy,omitzero"`
	Warnings []string     `json:"warnings,omitempty"`
	// LeftOut are members that are not in the run for what their agents state, sorted by name.
	LeftOut []LeftOut `json:"leftOut,omitempty"`
	// WindowsIgnored is the reason given with ignoreMaintenanceWindows; empty: windows hold.
	WindowsIgnored string `json:"windowsIgnored,omitempty"`
	// BlockedBy names the active run of the same profile that this one waits for.
	BlockedBy string `json:"blockedBy,omitempty"`
	// RerunOf lists, sorted, the members that a rerun named while the run goes over them alone.
	RerunOf []string `json:"rerunOf,omitempty"`
	// Requests are the ids of the last operations, so that a repeat is answered and not repeated.
	Requests []string `json:"requests,omitempty"`
	// Content is set of a run of content; versions, images, Strategy and locks are of upgrades alone.
	Content *ContentRun `json:"content,omitempty"`
}

// SelectedImages lists, sorted by family, the version chosen for each family of the run.
type SelectedImages struct {
	SelectedNodeImageVersions []SelectedImage `json:"selectedNodeImageVersions"`
}

// SelectedImage is the version chosen for a family; empty when more than half of its members agree on none.
type SelectedImage struct {
	Family  string `json:"family"`
	Version string `json:"version,omitempty"`
}

// LeftOut is a member that a run leaves out, and why, with what to do.
type LeftOut struct {
	Member  string `json:"member"`
	Message string `json:"message"`
}

// StageStatus is the state of one stage.
type StageStatus struct {
	Status             UpdateStatus  `json:"status"`
	Name               string        `json:"name"`
	MaxConcurrency     int           `json:"maxConcurrency"`
	MaxAllowedFailures int           `json:"maxAllowedFailures"`
	FailureCount       int           `json:"failureCount"`
	BeforeGates        []GateStatus  `json:"beforeGates,omitempty"`
	Groups             []GroupStatus `json:"groups"`
	AfterGates         []GateStatus  `json:"afterGates,omitempty"`
	// Wait is nil when the stage has none.
	Wait *WaitStatus `json:"afterStageWaitStatus,omitempty"`
	// SkippedByUser is set by skipping the stage; what runs in it may still finish.
	SkippedByUser bool `json:"skippedByUser,omitempty"`
	// GroupsDone is the instant the last group became terminal; the wait counts from it.
	GroupsDone metav1.Time `json:"groupsDone,omitzero"`
}

// GroupStatus is the state of one group; its members are sorted by name.
type GroupStatus struct {
	Status             UpdateStatus         `json:"status"`
	Name               string               `json:"name"`
	MaxConcurrency     int                  `json:"maxConcurrency"`
	MaxAllowedFailures int                  `json:"maxAllowedFailures"`
	FailureCount       int                  `json:"failureCount"`
	BeforeGates        []GateStatus         `json:"beforeGates,omitempty"`
	Members            []MemberUpdateStatus `json:"members"`
	AfterGates         []GateStatus         `json:"afterGates,omitempty"`
	// SkippedByUser is set by skipping the group or its stage.
	SkippedByUser bool `json:"skippedByUser,omitempty"`
}

// WaitStatus is the wait after a stage. Deadline is absolute and goes on while the run is stopped.
type WaitStatus struct {
	Status                UpdateStatus `json:"status"`
	WaitDurationInSeconds int32        `json:"waitDurationInSeconds"`
	Deadline              metav1.Time  `json:"deadline,omitzero"`
	// SkipRequested is set by a skip before the wait began; it takes effect when it would begin.
	SkipRequested bool `json:"skipRequested,omitempty"`
}

// GateStatus is the state of one gate. GateID is empty until the gate is reached.
type GateStatus struct {
	Status      UpdateStatus `json:"status"`
	DisplayName string       `json:"displayName,omitempty"`
	Type        string       `json:"type"`
	GateID      string       `json:"gateId,omitempty"`
	// ApprovedBy is who approved an Approval.
	ApprovedBy string `json:"approvedBy,omitempty"`
	// AbsoluteStartTime of a ScheduledStart, computed when it is reached.
	AbsoluteStartTime metav1.Time `json:"absoluteStartTime,omitzero"`
	// Schedule is the configuration of a ScheduledStart.
	Schedule *ScheduledStart `json:"scheduledStart,omitempty"`
}

// MemberUpdateStatus is the state of one member in a run.
type MemberUpdateStatus struct {
	Status UpdateStatus `json:"status"`
	Name   string       `json:"name"`
	// ClusterResourceID identifies the member; a member that comes back under the same name with
	// another one is another member.
	ClusterResourceID string `json:"clusterResourceId,omitempty"`
	// OperationID of the latest attempt: "<run uid>/<member>/<attempt>".
	OperationID string `json:"operationId,omitempty"`
	Attempt     int    `json:"attempt"`
	Reason      string `json:"reason,omitempty"`
	Message     string `json:"message,omitempty"`
	// SkippedBy is User or System when the member is Skipped.
	SkippedBy string `json:"skippedBy,omitempty"`
	// PendingSince is when the member last became Pending.
	PendingSince     metav1.Time `json:"pendingSince,omitzero"`
	NextEligibleTime metav1.Time `json:"nextEligibleTime,omitzero"`
	// WindowClass is 1 open, 2 opening within 4 h, 3 no window, 4 closed; 0 before it was considered.
	WindowClass int    `json:"windowClass,omitempty"`
	FromVersion string `json:"fromVersion,omitempty"`
	// ToVersion is the control plane's target; empty when this run leaves it alone.
	ToVersion  string           `json:"toVersion,omitempty"`
	NodeImages []PoolUpgrade    `json:"nodeImages,omitempty"`
	History    []UpgradeAttempt `json:"history,omitempty"`
	// Locked is set while this run holds the member's lock.
	Locked bool `json:"locked,omitempty"`
	// Rank is the member's place in its stage by a label that the stage is sorted by.
	Rank int64 `json:"rank,omitempty"`
}

// Results of pools in a PoolUpgrade.
const (
	PoolPlanned   = "Planned"   // part of the operation that runs
	PoolUpgraded  = "Upgraded"  // done
	PoolAtTarget  = "AtTarget"  // at or ahead of the target, left alone
	PoolUnlisted  = "Unlisted"  // its family is not selected, left alone
	PoolUnknown   = "Unknown"   // its image cannot be read, image left alone
	PoolNotMoved  = "NotMoved"  // the operation failed before it was reported done
	PoolIsPinned  = "Pinned"    // made from a snapshot, left alone by Latest
	PoolUnoffered = "Unoffered" // the region offers no image of its family
)

// PoolUpgrade is what an attempt means to do, or did, to one node pool. Empty To fields leave it.
type PoolUpgrade struct {
	Pool        string `json:"pool"`
	From        string `json:"from,omitempty"` // full image name
	To          string `json:"to,omitempty"`
	FromVersion string `json:"fromVersion,omitempty"` // Kubernetes
	ToVersion   string `json:"toVersion,omitempty"`
	Result      string `json:"result"`
	// DropSnapshot removes the link to the snapshot the pool was made from.
	DropSnapshot bool `json:"dropSnapshot,omitempty"`
	// Newest asks the driver for the newest image it knows, when no catalog names one (A57).
	Newest bool `json:"newest,omitempty"`
}

// UpgradeAttempt is one attempt that ended, or a late result of one.
type UpgradeAttempt struct {
	OperationID string      `json:"operationId"`
	Attempt     int         `json:"attempt"`
	Started     metav1.Time `json:"started,omitzero"`
	Ended       metav1.Time `json:"ended"`
	State       UpdateState `json:"state"`
	Reason      string      `json:"reason,omitempty"`
	Message     string      `json:"message,omitempty"`
	// Late marks a result that came after the attempt was given up.
	Late bool `json:"late,omitempty"`
}

// MaxHistory is the number of attempts a member keeps, newest last.
const MaxHistory = 10

// Gate timings.
const (
	TimingBefore = "Before"
	TimingAfter  = "After"
)

// Gate is a gate as users read it, made from its run; only the hub makes and removes gates, and the
// only change a user can ask for is to complete a pending one.
type Gate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec   GateSpec     `json:"spec"`
	Status UpdateStatus `json:"status"`
}

// GateSpec describes where a gate stands.
type GateSpec struct {
	DisplayName              string                    `json:"displayName,omitempty"`
	GateType                 string                    `json:"gateType"`
	ScheduledStartProperties *ScheduledStartProperties `json:"scheduledStartProperties,omitempty"`
	Target                   GateTarget                `json:"target"`
}

// ScheduledStartProperties is the schedule with the instant it resolved to.
type ScheduledStartProperties struct {
	ScheduledStart    `json:",inline"`
	AbsoluteStartTime metav1.Time `json:"absoluteStartTime,omitzero"`
}

// GateTarget names the scope a gate guards. Group is empty for a stage's gate.
type GateTarget struct {
	Run    string `json:"id"`
	Stage  string `json:"stage"`
	Group  string `json:"group,omitempty"`
	Timing string `json:"timing"`
}
