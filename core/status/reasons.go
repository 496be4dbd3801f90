package status

import "flotilla/core/api"

// Reasons of conditions, KubeFleet's.
const (
	reasonSchedulePending   = "SchedulePending"
	reasonPolicyUnfulfilled = "SchedulingPolicyUnfulfilled"
	reasonPolicyFulfilled   = "SchedulingPolicyFulfilled"
	reasonInvalidSelectors  = "InvalidResourceSelectors"

	reasonScheduled      = "Scheduled"
	reasonScheduleFailed = "ScheduleFailed"

	reasonRolloutUnknown    = "RolloutStartedUnknown"
	reasonRolloutNotStarted = "RolloutNotStartedYet"
	reasonRolloutStarted    = "RolloutStarted"
	reasonRolloutExternal   = api.ReasonRolloutExternal

	reasonNoOverride        = "NoOverrideSpecified"
	reasonOverriddenPending = "OverriddenPending"
	reasonOverriddenFailed  = "OverriddenFailed"
	reasonOverridden        = "OverriddenSucceeded"

	reasonSyncUnknown   = "WorkSynchronizedUnknown"
	reasonSyncNotYet    = "WorkNotSynchronizedYet"
	reasonSynchronized  = "WorkSynchronized"
	reasonAllWorkSynced = "AllWorkSynced"

	reasonApplyPending    = "ApplyPending"
	reasonApplyFailed     = "ApplyFailed"
	reasonApplySucceeded  = "ApplySucceeded"
	reasonApplyInProgress = "ApplyInProgress"
	reasonAllApplied      = "AllWorkHaveBeenApplied"
	reasonNotAllApplied   = "NotAllWorkHaveBeenApplied"

	reasonAvailableUnknown = "ResourceAvailableUnknown"
	reasonNotAvailableYet  = "ResourceNotAvailableYet"
	reasonAvailable        = "ResourceAvailable"
	reasonAllAvailable     = "AllWorkAreAvailable"
	reasonNotAllAvailable  = "NotAllWorkAreAvailable"

	reasonDiffPending    = "DiffReportingPending"
	reasonDiffFailed     = "DiffReportingIncompleteOrFailed"
	reasonDiffCompleted  = "DiffReportingCompleted"
	reasonDiffInProgress = "DiffReportInProgress"
	reasonAllReported    = "AllWorkHaveDiffReported"
	reasonNotAllReported = "NotAllWorkHaveDiffReported"

	reasonProgressing      = "RolloutProgressing"
	reasonCompleted        = "RolloutCompleted"
	reasonPaused           = "RolloutPaused"
	reasonFrozen           = "RolloutFrozen"
	reasonDeadlineExceeded = api.ReasonDeadlineExceeded

	reasonFoundDrifts     = "FoundDrifts" // of an object
	reasonNoDiffReporting = "FailedToReportDiff"
)
