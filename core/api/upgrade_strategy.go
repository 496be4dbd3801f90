package api

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/strict"
)

// VersionFlotilla is the apiVersion of our own objects.
const VersionFlotilla = GroupFlotilla + "/v1alpha1"

// Kinds of the objects around upgrades.
const (
	KindUpdateStrategy     = "UpdateStrategy"
	KindUpdateRun          = "UpdateRun"
	KindAutoUpgradeProfile = "AutoUpgradeProfile"
	KindGate               = "Gate"
	KindVersionCatalog     = "VersionCatalog"
)

// LabelUpdateGroup on a member names the one update group it belongs to.
const LabelUpdateGroup = "flotilla.io/update-group"

// UpdateStrategy is a reusable sequence of stages and groups. It never holds versions. A run keeps a
// copy, so later edits reach later runs only.
type UpdateStrategy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec UpdateStrategySpec `json:"spec"`
}

// UpdateStrategySpec is the sequence and, optionally, how runs that follow it behave.
type UpdateStrategySpec struct {
	RunStrategy `json:",inline"`
	// Policy holds the defaults of runs that name this strategy; a run's own policy wins field by field.
	Policy *UpdatePolicy `json:"policy,omitempty"`
}

// RunStrategy is a sequence of stages in order of execution.
type RunStrategy struct {
	Stages []UpdateStage `json:"stages"`
}

// UpdateStage is a set of groups that run in parallel. The next stage begins when all of them ended,
// the wait is over and the gates are open.
type UpdateStage struct {
	Name           string          `json:"name"`
	MemberSelector *MemberSelector `json:"memberSelector,omitempty"`
	Groups         []UpdateGroup   `json:"groups,omitempty"`
	// MaxConcurrency is a count or a percentage of the stage's members, rounded down, at least 1;
	// default and ceiling 50.
	MaxConcurrency strict.CountOrPercent `json:"maxConcurrency,omitempty"`
	// MaxAllowedFailures is a count or a percentage of the stage's members, rounded up; the stage
	// fails when more members failed. Unset inherits from its groups, else 0.
	MaxAllowedFailures      strict.CountOrPercent `json:"maxAllowedFailures,omitempty"`
	AfterStageWaitInSeconds int32                 `json:"afterStageWaitInSeconds,omitempty"`
	BeforeGates             []GateConfiguration   `json:"beforeGates,omitempty"`
	AfterGates              []GateConfiguration   `json:"afterGates,omitempty"`
}

// UpdateGroup is a set of members inside a stage.
type UpdateGroup struct {
	Name           string          `json:"name"`
	MemberSelector *MemberSelector `json:"memberSelector,omitempty"`
	// MaxConcurrency as for a stage, of the group's members; default 1.
	MaxConcurrency strict.CountOrPercent `json:"maxConcurrency,omitempty"`
	// MaxAllowedFailures as for a stage. Unset inherits the stage's resolved value, else 0.
	MaxAllowedFailures strict.CountOrPercent `json:"maxAllowedFailures,omitempty"`
	BeforeGates        []GateConfiguration   `json:"beforeGates,omitempty"`
	AfterGates         []GateConfiguration   `json:"afterGates,omitempty"`
}

// MemberSelector selects members by label, in the text form of a Kubernetes selector, at most 512
// characters.
type MemberSelector struct {
	ByLabel string `json:"byLabel"`
}

// Gate types.
const (
	GateApproval       = "Approval"
	GateScheduledStart = "ScheduledStart"
	// GateCheck, of runs of content alone, opens once the RolloutCheck held that the content goes out under.
	GateCheck = "Check"
)

// GateConfiguration is a gate of a strategy. ScheduledStart is legal before a stage or group only.
type GateConfiguration struct {
	DisplayName                 string          `json:"displayName,omitempty"`
	Type                        string          `json:"type"`
	ScheduledStartConfiguration *ScheduledStart `json:"scheduledStartConfiguration,omitempty"`
}

// ScheduledStart is a time of the week in a fixed offset: "Wednesday", "02:00", "+00:00".
type ScheduledStart struct {
	StartDay  string `json:"startDay"`
	StartTime string `json:"startTime"`
	UTCOffset string `json:"utcOffset"`
}

// What a run does about a member it cannot upgrade.
const (
	PolicySkip   = "Skip"
	PolicyWait   = "Wait"
	PolicyFail   = "Fail"
	PolicyRefuse = "Refuse"
	PolicyNotify = "Notify"
)

// UpdatePolicy holds the optional settings of runs (A54). Absent fields take the defaults written
// beside them.
type UpdatePolicy struct {
	// Strict refuses a stage whose maxConcurrency is above MaxStageAtOnce and a group whose is above that
	// of its stage or the number of its members; default false, which lowers it with a warning. What a
	// stage asks for beyond its members is a ceiling that is not reached.
	Strict *bool `json:"strict,omitempty"`
	// ReserveOpeningSoon keeps a slot for each member whose window opens within 4 h, against members
	// without a window and those whose window is further away; default false.
	ReserveOpeningSoon *bool `json:"reserveOpeningSoon,omitempty"`
	// MemberTimeout fails a member whose upgrade takes longer; default none.
	MemberTimeout *metav1.Duration `json:"memberTimeout,omitempty"`
	// OnIneligible is Refuse (default): start is refused and lists members the version rules forbid;
	// or Skip: such members are skipped.
	OnIneligible string `json:"onIneligible,omitempty"`
	// OnStopped says what to do about a member that is powered off: Skip (default), Wait or Fail.
	OnStopped string `json:"onStopped,omitempty"`
	// OnUnreachable says what to do about a member nobody hears of: Wait (default), Skip or Fail.
	OnUnreachable string `json:"onUnreachable,omitempty"`
	// PendingTimeout is how long a member may stay Pending before OnPendingTimeout; default for ever.
	PendingTimeout *metav1.Duration `json:"pendingTimeout,omitempty"`
	// OnPendingTimeout is Notify (default), Skip or Fail.
	OnPendingTimeout string `json:"onPendingTimeout,omitempty"`
	// MinRemaining is how much of an open window must be left to start a member; default 0.
	MinRemaining *metav1.Duration `json:"minRemaining,omitempty"`
	// FinalStageWait executes the wait of the last stage; default true.
	FinalStageWait *bool `json:"finalStageWait,omitempty"`
	// MaxAllowedFailures of the whole run, count or percentage; default unlimited, stages decide.
	MaxAllowedFailures strict.CountOrPercent `json:"maxAllowedFailures,omitempty"`
	// AllowPreview accepts a Kubernetes version in preview; default false.
	AllowPreview *bool `json:"allowPreview,omitempty"`
	// DisableUnattendedUpgrades tells drivers to switch off the node's own updates (A59); default true.
	DisableUnattendedUpgrades *bool `json:"disableUnattendedUpgrades,omitempty"`
	// Checks say what preflight and post checks of the agent do when they find something: Block
	// (default), Warn or Ignore.
	Checks string `json:"checks,omitempty"`

	// Chained, CatchUp, SplitAtWindowClose and AllowRecoveryPath are known and refused.
	Chained            *bool `json:"chained,omitempty"`
	CatchUp            *bool `json:"catchUp,omitempty"`
	SplitAtWindowClose *bool `json:"splitAtWindowClose,omitempty"`
	AllowRecoveryPath  *bool `json:"allowRecoveryPath,omitempty"`
}

// Policies of agent checks.
const (
	ChecksBlock  = "Block"
	ChecksWarn   = "Warn"
	ChecksIgnore = "Ignore"
)

// On reports whether an optional switch is on.
func On(flag *bool, otherwise bool) bool {
	if flag == nil {
		return otherwise
	}
	return *flag
}

// Span returns an optional duration, 0 when absent.
func Span(d *metav1.Duration) time.Duration {
	if d == nil {
		return 0
	}
	return d.Duration
}

// Limits of strategies and runs.
const (
	MaxRunMembers     = 1000
	MaxStages         = 50
	MaxGroupsPerStage = 50
	MaxStageAtOnce    = 50
	MaxSelectorLength = 512
	MaxUpdateName     = 50
	MaxDisplayName    = 100
	MaxStageWait      = 2592000 // seconds, 30 days
)
