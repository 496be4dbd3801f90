package configs_test

import (
	"flag"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"flotilla/configs"
	"flotilla/core/api"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the refusals into docs/objects.md anew")

const objects = "../docs/objects.md"

// documented maps the headings of docs/objects.md to the types whose fields stand below them.
var documented = map[string]reflect.Type{
	"spec":                                 reflect.TypeFor[api.PlacementSpec](),
	"spec.resourceSelectors[]":             reflect.TypeFor[api.ResourceSelector](),
	"spec.policy":                          reflect.TypeFor[api.Policy](),
	"spec.policy.affinity":                 reflect.TypeFor[api.Affinity](),
	"spec.policy.affinity.clusterAffinity": reflect.TypeFor[api.ClusterAffinity](),
	"requiredDuringSchedulingIgnoredDuringExecution":    reflect.TypeFor[api.ClusterSelector](),
	"preferredDuringSchedulingIgnoredDuringExecution[]": reflect.TypeFor[api.PreferredClusterTerm](),
	"A term":                                  reflect.TypeFor[api.ClusterSelectorTerm](),
	"propertySelector":                        reflect.TypeFor[api.PropertySelector](),
	"propertySelector.matchExpressions[]":     reflect.TypeFor[api.PropertyExpression](),
	"propertySorter":                          reflect.TypeFor[api.PropertySorter](),
	"spec.policy.topologySpreadConstraints[]": reflect.TypeFor[api.TopologySpreadConstraint](),
	"spec.policy.tolerations[]":               reflect.TypeFor[api.Toleration](),
	"spec.strategy":                           reflect.TypeFor[api.Strategy](),
	"spec.strategy.rollingUpdate":             reflect.TypeFor[api.RollingUpdate](),
	"spec.strategy.applyStrategy":             reflect.TypeFor[api.ApplyStrategy](),
	"serverSideApplyConfig":                   reflect.TypeFor[api.ServerSideApplyConfig](),
	"spec.strategy.deleteStrategy":            reflect.TypeFor[api.DeleteStrategy](),
	"spec.strategy.reportBackStrategy":        reflect.TypeFor[api.ReportBackStrategy](),
	"MemberCluster spec":                      reflect.TypeFor[api.MemberClusterSpec](),
	"identity":                                reflect.TypeFor[api.SubjectReference](),
	"taints[]":                                reflect.TypeFor[api.Taint](),
	"deleteOptions":                           reflect.TypeFor[api.DeleteOptions](),
	"UpdateRun spec":                          reflect.TypeFor[api.UpdateRunSpec](),
	"upgrade":                                 reflect.TypeFor[api.Upgrade](),
	"nodeImageSelection":                      reflect.TypeFor[api.NodeImageSelection](),
	"customNodeImageVersions[]":               reflect.TypeFor[api.NodeImageVersion](),
	"policy":                                  reflect.TypeFor[api.UpdatePolicy](),
	"UpdateStrategy spec":                     reflect.TypeFor[api.UpdateStrategySpec](),
	"strategy":                                reflect.TypeFor[api.RunStrategy](),
	"stages[]":                                reflect.TypeFor[api.UpdateStage](),
	"groups[]":                                reflect.TypeFor[api.UpdateGroup](),
	"memberSelector":                          reflect.TypeFor[api.MemberSelector](),
	"beforeGates[], afterGates[]":             reflect.TypeFor[api.GateConfiguration](),
	"scheduledStartConfiguration":             reflect.TypeFor[api.ScheduledStart](),
	"Gate spec":                               reflect.TypeFor[api.GateSpec](),
	"scheduledStartProperties":                reflect.TypeFor[api.ScheduledStartProperties](),
	"target":                                  reflect.TypeFor[api.GateTarget](),
	"AutoUpgradeProfile spec":                 reflect.TypeFor[api.AutoUpgradeProfileSpec](),
	"VersionCatalog spec":                     reflect.TypeFor[api.VersionCatalogSpec](),
	"kubernetes[]":                            reflect.TypeFor[api.KubernetesRelease](),
	"nodeImages[]":                            reflect.TypeFor[api.NodeImageRelease](),
	"MemberMaintenance spec":                  reflect.TypeFor[api.MaintenanceConfiguration](),
	"A maintenance schedule":                  reflect.TypeFor[api.MaintenanceWindow](),
	"schedule":                                reflect.TypeFor[api.MaintenanceSchedule](),
	"daily":                                   reflect.TypeFor[api.DailySchedule](),
	"weekly":                                  reflect.TypeFor[api.WeeklySchedule](),
	"absoluteMonthly":                         reflect.TypeFor[api.AbsoluteMonthlySchedule](),
	"relativeMonthly":                         reflect.TypeFor[api.RelativeMonthlySchedule](),
	"notAllowedDates[]":                       reflect.TypeFor[api.DateSpan](),
	"NodePool spec":                           reflect.TypeFor[api.NodePoolSpec](),
	"template":                                reflect.TypeFor[api.NodePoolTemplate](),
	"template.metadata":                       reflect.TypeFor[api.NodePoolTemplateMeta](),
	"template.spec":                           reflect.TypeFor[api.NodePoolTemplateSpec](),
	"nodeClassRef":                            reflect.TypeFor[api.NodeClassRef](),
	"requirements[]":                          reflect.TypeFor[api.NodeRequirement](),
	"Node taints":                             reflect.TypeFor[api.NodeTaint](),
	"disruption":                              reflect.TypeFor[api.PoolDisruption](),
	"budgets[]":                               reflect.TypeFor[api.DisruptionBudget](),
	"NodePool status":                         reflect.TypeFor[api.NodePoolStatus](),
	"status.members[]":                        reflect.TypeFor[api.PoolMember](),
	"InstanceCatalog spec":                    reflect.TypeFor[api.InstanceCatalogSpec](),
	"reserved":                                reflect.TypeFor[api.InstanceReserve](),
	"types[]":                                 reflect.TypeFor[api.InstanceType](),
	"offerings[]":                             reflect.TypeFor[api.InstanceOffering](),
}

func document(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(objects)
	require.NoError(t, err)
	return string(text)
}

func TestEveryFieldIsDocumented(t *testing.T) {
	row := regexp.MustCompile("(?m)^\\| `([A-Za-z]+)` \\|")
	seen := map[string]bool{}
	for section := range strings.SplitSeq(document(t), "\n### ") {
		heading, body, _ := strings.Cut(section, "\n")
		of, ok := documented[heading]
		if !ok {
			continue
		}
		seen[heading] = true
		body, _, _ = strings.Cut(body, "\n## ")
		var got []string
		for _, found := range row.FindAllStringSubmatch(body, -1) {
			got = append(got, found[1])
		}
		require.Equal(t, fieldsOf(of), got, "fields of %s", heading)
	}
	require.Len(t, seen, len(documented))
}

// fieldsOf lists the fields of a type as documents spell them, those of inlined types among them.
func fieldsOf(of reflect.Type) (names []string) {
	for f := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			names = append(names, fieldsOf(f.Type)...)
			continue
		}
		names = append(names, name)
	}
	return names
}

func TestEveryTypeIsDocumented(t *testing.T) {
	known := map[reflect.Type]bool{}
	for _, of := range documented {
		known[of] = true
	}
	var visit func(of reflect.Type)
	visit = func(of reflect.Type) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || !strings.HasSuffix(of.PkgPath(), "core/api") {
			return
		}
		require.True(t, known[of], "docs/objects.md has no section for %s", of)
		for f := range of.Fields() {
			visit(f.Type)
		}
	}
	visit(reflect.TypeFor[api.PlacementSpec]())
	visit(reflect.TypeFor[api.MemberClusterSpec]())
	visit(reflect.TypeFor[api.UpdateRunSpec]())
	visit(reflect.TypeFor[api.UpdateStrategySpec]())
	visit(reflect.TypeFor[api.AutoUpgradeProfileSpec]())
	visit(reflect.TypeFor[api.VersionCatalogSpec]())
	visit(reflect.TypeFor[api.MaintenanceConfiguration]())
	visit(reflect.TypeFor[api.GateSpec]())
	visit(reflect.TypeFor[api.NodePoolSpec]())
	visit(reflect.TypeFor[api.NodePoolStatus]())
	visit(reflect.TypeFor[api.InstanceCatalogSpec]())
}

// TestRefusalsAreWhatTheDocumentSays decodes each refused example and compares the text below it.
func TestRefusalsAreWhatTheDocumentSays(t *testing.T) {
	text := document(t)
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```\n\n```text\n(.*?)```\n")
	require.Len(t, block.FindAllString(text, -1), 4)
	want := block.ReplaceAllStringFunc(text, func(found string) string {
		example := block.FindStringSubmatch(found)[1]
		docs, err := configs.Parse("example", []byte(example))
		require.NoError(t, err)
		require.Len(t, docs, 1)
		_, faults := api.Decode(docs[0].JSON)
		require.NotEmpty(t, faults)
		if !*update {
			require.Equal(t, show(faults), block.FindStringSubmatch(found)[2], "go test ./configs -run Refusals -update writes it anew")
		}
		return "```yaml\n" + example + "```\n\n```text\n" + show(faults) + "```\n"
	})
	if *update {
		require.NoError(t, os.WriteFile(objects, []byte(want), 0o644))
	}
}

func show(faults api.Faults) string {
	var b strings.Builder
	for _, f := range faults {
		b.WriteString(f.Path + "\n  found     " + f.Found + "\n  expected  " + f.Expected + "\n")
		if f.Fix != "" {
			b.WriteString("  write\n    " + strings.ReplaceAll(f.Fix, "\n", "\n    ") + "\n")
		}
	}
	return b.String()
}
