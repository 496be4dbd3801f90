package schema

import (
	"reflect"
	"regexp"
	"strings"
	"sync"

	"flotilla/core/api"
	"flotilla/docs"
)

// sections maps the headings of docs/objects.md to the types whose fields stand below them.
var sections = map[string]reflect.Type{
	"spec":                                 reflect.TypeFor[api.PlacementSpec](),
	"spec.resourceSelectors[]":             reflect.TypeFor[api.ResourceSelector](),
	"spec.policy":                          reflect.TypeFor[api.Policy](),
	"spec.policy.affinity":                 reflect.TypeFor[api.Affinity](),
	"spec.policy.affinity.clusterAffinity": reflect.TypeFor[api.ClusterAffinity](),
	"requiredDuringSchedulingIgnoredDuringExecution":    reflect.TypeFor[api.ClusterSelector](),
	"preferredDuringSchedulingIgnoredDuringExecution[]": reflect.TypeFor[api.PreferredClusterTerm](),
	"A term":                                          reflect.TypeFor[api.ClusterSelectorTerm](),
	"propertySelector":                                reflect.TypeFor[api.PropertySelector](),
	"propertySelector.matchExpressions[]":             reflect.TypeFor[api.PropertyExpression](),
	"propertySorter":                                  reflect.TypeFor[api.PropertySorter](),
	"spec.policy.topologySpreadConstraints[]":         reflect.TypeFor[api.TopologySpreadConstraint](),
	"spec.policy.tolerations[]":                       reflect.TypeFor[api.Toleration](),
	"spec.strategy":                                   reflect.TypeFor[api.Strategy](),
	"spec.strategy.rollingUpdate":                     reflect.TypeFor[api.RollingUpdate](),
	"spec.strategy.applyStrategy":                     reflect.TypeFor[api.ApplyStrategy](),
	"serverSideApplyConfig":                           reflect.TypeFor[api.ServerSideApplyConfig](),
	"spec.strategy.deleteStrategy":                    reflect.TypeFor[api.DeleteStrategy](),
	"spec.strategy.reportBackStrategy":                reflect.TypeFor[api.ReportBackStrategy](),
	"ClusterResourceOverride spec":                    reflect.TypeFor[api.ClusterResourceOverrideSpec](),
	"ResourceOverride spec":                           reflect.TypeFor[api.ResourceOverrideSpec](),
	"placement of a ClusterResourceOverride":          reflect.TypeFor[api.ClusterOverridePlacement](),
	"placement of a ResourceOverride":                 reflect.TypeFor[api.OverridePlacement](),
	"clusterResourceSelectors[], resourceSelectors[]": reflect.TypeFor[api.OverrideSelector](),
	"policy of an override":                           reflect.TypeFor[api.OverridePolicy](),
	"overrideRules[]":                                 reflect.TypeFor[api.OverrideRule](),
	"clusterSelector":                                 reflect.TypeFor[api.OverrideClusterSelector](),
	"jsonPatchOverrides[]":                            reflect.TypeFor[api.JSONPatchOverride](),
	"StagedUpdateRun spec":                            reflect.TypeFor[api.StagedUpdateRunSpec](),
	"StagedUpdateStrategy spec":                       reflect.TypeFor[api.StagedUpdateStrategySpec](),
	"stages[] of a staged run":                        reflect.TypeFor[api.ContentStage](),
	"beforeStageTasks[], afterStageTasks[]":           reflect.TypeFor[api.StageTask](),
	"ClusterResourcePlacementEviction spec":           reflect.TypeFor[api.PlacementEvictionSpec](),
	"ClusterResourcePlacementDisruptionBudget spec":   reflect.TypeFor[api.PlacementDisruptionBudgetSpec](),
	"ApprovalRequest spec":                            reflect.TypeFor[api.ApprovalRequestSpec](),
	"RolloutCheck spec":                               reflect.TypeFor[api.RolloutCheckSpec](),
	"checks[]":                                        reflect.TypeFor[api.Check](),
	"availability":                                    reflect.TypeFor[api.AvailabilityCheck](),
	"prometheus":                                      reflect.TypeFor[api.PrometheusCheck](),
	"webhook":                                         reflect.TypeFor[api.WebhookCheck](),
	"command":                                         reflect.TypeFor[api.CommandCheck](),
	"MemberCluster spec":                              reflect.TypeFor[api.MemberClusterSpec](),
	"identity":                                        reflect.TypeFor[api.SubjectReference](),
	"taints[]":                                        reflect.TypeFor[api.Taint](),
	"deleteOptions":                                   reflect.TypeFor[api.DeleteOptions](),
	"UpdateRun spec":                                  reflect.TypeFor[api.UpdateRunSpec](),
	"upgrade":                                         reflect.TypeFor[api.Upgrade](),
	"nodeImageSelection":                              reflect.TypeFor[api.NodeImageSelection](),
	"customNodeImageVersions[]":                       reflect.TypeFor[api.NodeImageVersion](),
	"policy":                                          reflect.TypeFor[api.UpdatePolicy](),
	"UpdateStrategy spec":                             reflect.TypeFor[api.UpdateStrategySpec](),
	"strategy":                                        reflect.TypeFor[api.RunStrategy](),
	"stages[]":                                        reflect.TypeFor[api.UpdateStage](),
	"groups[]":                                        reflect.TypeFor[api.UpdateGroup](),
	"memberSelector":                                  reflect.TypeFor[api.MemberSelector](),
	"beforeGates[], afterGates[]":                     reflect.TypeFor[api.GateConfiguration](),
	"scheduledStartConfiguration":                     reflect.TypeFor[api.ScheduledStart](),
	"Gate spec":                                       reflect.TypeFor[api.GateSpec](),
	"scheduledStartProperties":                        reflect.TypeFor[api.ScheduledStartProperties](),
	"target":                                          reflect.TypeFor[api.GateTarget](),
	"AutoUpgradeProfile spec":                         reflect.TypeFor[api.AutoUpgradeProfileSpec](),
	"VersionCatalog spec":                             reflect.TypeFor[api.VersionCatalogSpec](),
	"kubernetes[]":                                    reflect.TypeFor[api.KubernetesRelease](),
	"nodeImages[]":                                    reflect.TypeFor[api.NodeImageRelease](),
	"MemberMaintenance spec":                          reflect.TypeFor[api.MaintenanceConfiguration](),
	"A maintenance schedule":                          reflect.TypeFor[api.MaintenanceWindow](),
	"schedule":                                        reflect.TypeFor[api.MaintenanceSchedule](),
	"daily":                                           reflect.TypeFor[api.DailySchedule](),
	"weekly":                                          reflect.TypeFor[api.WeeklySchedule](),
	"absoluteMonthly":                                 reflect.TypeFor[api.AbsoluteMonthlySchedule](),
	"relativeMonthly":                                 reflect.TypeFor[api.RelativeMonthlySchedule](),
	"notAllowedDates[]":                               reflect.TypeFor[api.DateSpan](),
	"NodePool spec":                                   reflect.TypeFor[api.NodePoolSpec](),
	"template":                                        reflect.TypeFor[api.NodePoolTemplate](),
	"template.metadata":                               reflect.TypeFor[api.NodePoolTemplateMeta](),
	"template.spec":                                   reflect.TypeFor[api.NodePoolTemplateSpec](),
	"nodeClassRef":                                    reflect.TypeFor[api.NodeClassRef](),
	"requirements[]":                                  reflect.TypeFor[api.NodeRequirement](),
	"Node taints":                                     reflect.TypeFor[api.NodeTaint](),
	"disruption":                                      reflect.TypeFor[api.PoolDisruption](),
	"budgets[]":                                       reflect.TypeFor[api.DisruptionBudget](),
	"NodePool status":                                 reflect.TypeFor[api.NodePoolStatus](),
	"status.members[]":                                reflect.TypeFor[api.PoolMember](),
	"InstanceCatalog spec":                            reflect.TypeFor[api.InstanceCatalogSpec](),
	"reserved":                                        reflect.TypeFor[api.InstanceReserve](),
	"types[]":                                         reflect.TypeFor[api.InstanceType](),
	"offerings[]":                                     reflect.TypeFor[api.InstanceOffering](),
}

// row is what docs/objects.md says of one field.
type row struct{ fallback, text string }

// fieldRow is a line of a table: a field, its default and rules. Tables of status have no defaults, that of
// policies has a column for each placement type.
var fieldRow = regexp.MustCompile("^\\| `([A-Za-z.]+)` \\|")

var rows = sync.OnceValue(func() map[reflect.Type]map[string]row {
	out := map[reflect.Type]map[string]row{}
	for section := range strings.SplitSeq(docs.Objects, "\n### ") {
		heading, body, _ := strings.Cut(section, "\n")
		of, known := sections[heading]
		if !known {
			continue
		}
		body, _, _ = strings.Cut(body, "\n## ")
		out[of] = rowsOf(body)
	}
	_, metadata, _ := strings.Cut(docs.Objects, "\n## Metadata\n")
	metadata, _, _ = strings.Cut(metadata, "\n## ")
	out[reflect.TypeFor[meta]()] = map[string]row{}
	for name, r := range rowsOf(metadata) {
		out[reflect.TypeFor[meta]()][strings.TrimPrefix(name, "metadata.")] = r
	}
	return out
})

func rowsOf(body string) map[string]row {
	found := map[string]row{}
	withDefault := strings.Contains(body, "| default |")
	for line := range strings.Lines(body) {
		name := fieldRow.FindStringSubmatch(line)
		if name == nil {
			continue
		}
		cells := cellsOf(line)
		r := row{text: cells[len(cells)-1]}
		if withDefault {
			r.fallback = cells[1]
		}
		if len(cells) == 6 {
			r.text = byType(cells[2:5]) + r.text
		}
		found[name[1]] = r
	}
	return found
}

// byType says which placement types have a field, from the columns about them.
func byType(cells []string) string {
	var parts []string
	for i, name := range []api.PlacementType{api.PickAll, api.PickN, api.PickFixed} {
		switch cells[i] {
		case "":
		case "–":
			parts = append(parts, "not with "+string(name))
		default:
			parts = append(parts, string(name)+": "+cells[i])
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + ". "
}

// cellsOf splits a line of a table at its bars; those behind a backslash are part of a cell.
func cellsOf(line string) []string {
	const bar = "\x00"
	line = strings.ReplaceAll(strings.TrimSpace(line), `\|`, bar)
	var cells []string
	for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
		cells = append(cells, strings.ReplaceAll(strings.TrimSpace(cell), bar, "|"))
	}
	return cells
}

// about is what stands below the heading of a type before its table.
func about(of reflect.Type) string {
	for section := range strings.SplitSeq(docs.Objects, "\n### ") {
		heading, body, _ := strings.Cut(section, "\n")
		if sections[heading] == of {
			text, _, _ := strings.Cut(body, "\n|")
			return strings.Join(strings.Fields(text), " ")
		}
	}
	return ""
}

// below is what docs/objects.md says of a kind, the sentences under its own heading.
func below(kind string) string {
	for line := range strings.Lines(docs.Objects) {
		if cells := cellsOf(line); len(cells) == 3 && cells[0] == kind {
			return strings.ToUpper(cells[2][:1]) + cells[2][1:] + "."
		}
	}
	return ""
}
