package schema

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// limit is what a value must be beside its type.
type limit struct {
	Enum     []string
	Min, Max *int64
	Pattern  string
}

func words(of ...string) limit        { return limit{Enum: of} }
func from(low, high int64) limit      { return limit{Min: &low, Max: &high} }
func atLeast(low int64) limit         { return limit{Min: &low} }
func pattern(expression string) limit { return limit{Pattern: expression} }

var (
	clock       = pattern(`^([01][0-9]|2[0-3]):[0-5][0-9]$`)
	offset      = pattern(`^[+-]((0[0-9]|1[0-3]):[0-5][0-9]|14:00)$`)
	date        = pattern(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
	weekdays    = words(api.UpdateWeekdays...)
	percentage  = pattern(`^(100|[0-9]{1,2})%$`)
	concurrency = limit{Min: new(int64(1)), Pattern: `^(?:([1-9][0-9]*)|([1-9][0-9]?|100)%)$`}
	failures    = limit{Min: new(int64(0)), Pattern: `^(?:0|[1-9][0-9]*|(?:0|[1-9][0-9]?|100)%)$`}
	poolSpan    = pattern(`^(([0-9]+(s|m|h))+|Never)$`)
	release     = pattern(`^v?[0-9]{1,9}\.[0-9]{1,9}\.[0-9]{1,9}$`)
)

// limits are those of the fields of Flotilla's types.
var limits = map[reflect.Type]map[string]limit{
	reflect.TypeFor[api.PlacementSpec](): {
		"revisionHistoryLimit": from(1, 1000), "statusReportingScope": words(api.StatusScopeCluster, api.StatusScopeNamespace),
	},
	reflect.TypeFor[api.ResourceSelector](): {
		"selectionScope": words(api.ScopeNamespaceOnly, api.ScopeNamespaceWithResources, api.ScopeNamespaceWithResourceSelectors),
	},
	reflect.TypeFor[api.Policy](): {
		"placementType": words(string(api.PickAll), string(api.PickN), string(api.PickFixed)), "numberOfClusters": atLeast(0),
	},
	reflect.TypeFor[api.PreferredClusterTerm](): {"weight": from(-100, 100)},
	reflect.TypeFor[api.PropertyExpression](): {
		"operator": words(string(api.OpGt), string(api.OpGe), string(api.OpEq), string(api.OpNe), string(api.OpLt), string(api.OpLe)),
	},
	reflect.TypeFor[api.PropertySorter](): {"sortOrder": words(api.Ascending, api.Descending)},
	reflect.TypeFor[api.TopologySpreadConstraint](): {
		"maxSkew": atLeast(1), "whenUnsatisfiable": words(api.DoNotSchedule, api.ScheduleAnyway),
	},
	reflect.TypeFor[api.Toleration](): {
		"operator": words(api.TolerationEqual, api.TolerationExists), "effect": words(api.EffectNoSchedule),
	},
	reflect.TypeFor[api.ClusterOverridePlacement]():      {"scope": words(api.OverrideScopeCluster)},
	reflect.TypeFor[api.OverridePlacement]():             {"scope": words(api.OverrideScopeCluster, api.OverrideScopeNamespaced)},
	reflect.TypeFor[api.OverrideRule]():                  {"overrideType": words(api.OverrideJSONPatch, api.OverrideDelete)},
	reflect.TypeFor[api.JSONPatchOverride]():             {"op": words(api.PatchAdd, api.PatchRemove, api.PatchReplace)},
	reflect.TypeFor[api.PlacementDisruptionBudgetSpec](): {"maxUnavailable": percentage, "minAvailable": percentage},
	reflect.TypeFor[api.RolloutCheckSpec](): {
		"failureLimit": from(1, api.MaxFailureLimit), "onFailure": words(api.OnFailureStop, api.OnFailureRollBack),
	},
	reflect.TypeFor[api.Taint]():    {"effect": words(api.EffectNoSchedule)},
	reflect.TypeFor[api.Strategy](): {"type": words(api.StrategyRollingUpdate, api.StrategyExternal)},
	reflect.TypeFor[api.RollingUpdate](): {
		"maxUnavailable": percentage, "maxSurge": percentage, "unavailablePeriodSeconds": atLeast(0),
	},
	reflect.TypeFor[api.ApplyStrategy](): {
		"type":             words(api.ApplyClientSide, api.ApplyServerSide, api.ApplyReportDiff),
		"comparisonOption": words(api.ComparePartial, api.CompareFull),
		"whenToApply":      words(api.WhenToApplyAlways, api.WhenToApplyIfNotDrift),
		"whenToTakeOver":   words(api.TakeOverAlways, api.TakeOverIfNoDiff, api.TakeOverNever),
	},
	reflect.TypeFor[api.DeleteStrategy](): {"propagationPolicy": words(api.PropagationDelete, api.PropagationAbandon)},
	reflect.TypeFor[api.ReportBackStrategy](): {
		"type": words(api.ReportBackDisabled), "destination": words("OriginalResource", "WorkAPI"),
	},
	reflect.TypeFor[api.StagedUpdateRunSpec](): {"state": words(api.RunInitialize, api.RunRun, api.RunStop)},
	reflect.TypeFor[api.ContentStage]():        {"maxConcurrency": concurrency},
	reflect.TypeFor[api.StageTask]():           {"type": words(api.TaskTimedWait, api.TaskApproval)},
	reflect.TypeFor[api.MemberClusterSpec]():   {"heartbeatPeriodSeconds": {Max: new(int64(600))}},
	reflect.TypeFor[api.DeleteOptions](): {
		"validationMode": words(api.ValidationStrict, api.ValidationSkip), "whenLeaving": words(api.WhenLeavingRetain, api.WhenLeavingDelete),
	},
	reflect.TypeFor[api.Upgrade](): {
		"type":              words(api.UpgradeFull, api.UpgradeControlPlaneOnly, api.UpgradeNodeImageOnly),
		"kubernetesVersion": pattern(`^v?[0-9]{1,9}\.[0-9]{1,9}(\.[0-9]{1,9})?$`),
	},
	reflect.TypeFor[api.NodeImageSelection](): {"type": words(api.ImagesLatest, api.ImagesConsistent, api.ImagesCustom)},
	reflect.TypeFor[api.UpdatePolicy](): {
		"onIneligible": words(api.PolicyRefuse, api.PolicySkip), "onStopped": words(api.PolicySkip, api.PolicyWait, api.PolicyFail),
		"onUnreachable":    words(api.PolicyWait, api.PolicySkip, api.PolicyFail),
		"onPendingTimeout": words(api.PolicyNotify, api.PolicySkip, api.PolicyFail),
		"checks":           words(api.ChecksBlock, api.ChecksWarn, api.ChecksIgnore), "maxAllowedFailures": failures,
	},
	reflect.TypeFor[api.UpdateStage](): {
		"maxConcurrency": concurrency, "maxAllowedFailures": failures, "afterStageWaitInSeconds": from(0, api.MaxStageWait),
	},
	reflect.TypeFor[api.UpdateGroup]():       {"maxConcurrency": concurrency, "maxAllowedFailures": failures},
	reflect.TypeFor[api.GateConfiguration](): {"type": words(api.GateApproval, api.GateScheduledStart)},
	reflect.TypeFor[api.ScheduledStart]():    {"startDay": weekdays, "startTime": clock, "utcOffset": offset},
	reflect.TypeFor[api.AutoUpgradeProfileSpec](): {
		"channel":                 words(api.ChannelStable, api.ChannelRapid, api.ChannelNodeImage, api.ChannelTarget, api.ChannelSecurityPatch),
		"targetKubernetesVersion": pattern(`^v?[0-9]{1,9}\.[0-9]{1,9}$`),
		"triggerMode":             words(api.TriggerReconcile, api.TriggerOnRelease),
		"triggerWhen":             words(api.TriggerFirstRegion, api.TriggerAllMemberRegions),
		"overlapPolicy":           words(api.OverlapQueue, api.OverlapSupersede, api.OverlapAllow),
	},
	reflect.TypeFor[api.KubernetesRelease](): {
		"version": release, "state": words(api.ReleaseGA, api.ReleasePreview, api.ReleaseDeprecated, api.ReleaseLTS),
	},
	reflect.TypeFor[api.NodeImageRelease](): {"version": pattern(`^[0-9]{1,9}(\.[0-9]{1,9}){1,2}$`)},
	reflect.TypeFor[api.MaintenanceWindow](): {
		"durationHours": from(4, 24), "startTime": clock, "startDate": date, "utcOffset": offset,
		"weekAnchor": words(api.WeekAnchorFirstMatch, api.WeekAnchorCalendarWeek),
	},
	reflect.TypeFor[api.DailySchedule]():  {"intervalDays": from(1, 7)},
	reflect.TypeFor[api.WeeklySchedule](): {"intervalWeeks": from(1, 4), "dayOfWeek": weekdays},
	reflect.TypeFor[api.AbsoluteMonthlySchedule](): {
		"intervalMonths": from(1, 6), "dayOfMonth": from(1, 31),
	},
	reflect.TypeFor[api.RelativeMonthlySchedule](): {
		"intervalMonths": from(1, 6), "weekIndex": words(api.WeekIndexes...), "dayOfWeek": weekdays,
	},
	reflect.TypeFor[api.DateSpan]():     {"start": date, "end": date},
	reflect.TypeFor[api.NodePoolSpec](): {"weight": from(1, 100), "replicas": atLeast(0)},
	reflect.TypeFor[api.NodePoolTemplateSpec](): {
		"expireAfter": poolSpan, "terminationGracePeriod": pattern(`^([0-9]+(s|m|h))+$`),
	},
	reflect.TypeFor[api.NodeRequirement](): {
		"operator": words("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"), "minValues": from(1, 50),
	},
	reflect.TypeFor[api.NodeTaint](): {"effect": words("NoSchedule", "PreferNoSchedule", "NoExecute")},
	reflect.TypeFor[api.PoolDisruption](): {
		"consolidationPolicy": words(api.WhenEmptyOrUnderutilized, api.WhenEmpty, api.Balanced, api.WhenUnderutilized),
		"consolidateAfter":    poolSpan, "expireAfter": poolSpan,
	},
	reflect.TypeFor[api.DisruptionBudget](): {
		"nodes": pattern(`^((100|[0-9]{1,2})%|[0-9]+)$`), "duration": pattern(`^([0-9]+h)?([0-9]+m)?(0s)?$`),
		"reasons": words(api.DisruptionReasons...),
	},
	reflect.TypeFor[api.InstanceType]():                {"pods": atLeast(0)},
	reflect.TypeFor[api.InstanceOffering]():            {"capacityType": words(api.CapacityReserved, api.CapacitySpot, api.CapacityOnDemand)},
	reflect.TypeFor[metav1.LabelSelectorRequirement](): {"operator": words("In", "NotIn", "Exists", "DoesNotExist")},
}
