package validate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/validate/upgrades"
)

const (
	flotillaHead = "apiVersion: flotilla.io/v1alpha1\nkind: "
	runHead      = flotillaHead + "UpdateRun\nmetadata: {name: r1}\nspec:\n"
	fullUpgrade  = "  upgrade: {type: Full, kubernetesVersion: \"1.29.9\"}\n"
	ringsHead    = flotillaHead + "UpdateStrategy\nmetadata: {name: rings}\nspec:\n"
	profileHead  = flotillaHead + "AutoUpgradeProfile\nmetadata: {name: stable}\nspec:\n"
	windowHead   = flotillaHead + "MemberMaintenance\nmetadata: {name: berlin}\nspec:\n  aksManagedAutoUpgradeSchedule:\n"
	catalogHead  = flotillaHead + "VersionCatalog\nmetadata: {name: default}\nspec:\n"
)

func TestRulesOfRuns(t *testing.T) {
	long := strings.Repeat("a", 51)
	const version = `spec.upgrade.kubernetesVersion: found nothing, expected a version, "1.29.9", or a minor, "1.29", for its newest patch`
	checkRules(t, "", []rule{
		{"neither strategy nor its name", runHead + fullUpgrade, nil},
		{"both", runHead + "  strategyName: rings\n  strategy: {stages: [{name: s, groups: [{name: g}]}]}\n" + fullUpgrade, []string{
			`spec.strategyName: found "rings", expected either strategy or strategyName, not both`,
		}},
		{"no upgrade", runHead + "  strategyName: rings\n", []string{
			"spec.upgrade: found nothing, expected a map with type, kubernetesVersion, nodeImageSelection",
			"spec.upgrade.type: found nothing, expected one of Full, ControlPlaneOnly or NodeImageOnly", version,
		}},
		{"Full without a version", runHead + "  upgrade: {type: Full}\n", []string{version}},
		{"ControlPlaneOnly without a version", runHead + "  upgrade: {type: ControlPlaneOnly}\n", []string{version}},
		{"a version as a number", runHead + "  upgrade: {type: Full, kubernetesVersion: 1.30}\n", []string{
			`spec.upgrade.kubernetesVersion: found number 1.3, expected a string, "1.3"`,
		}},
		{"NodeImageOnly with a version", runHead + "  upgrade: {type: NodeImageOnly, kubernetesVersion: 1.29.4}\n", []string{
			`spec.upgrade.kubernetesVersion: found "1.29.4", expected nothing beside type NodeImageOnly`,
		}},
		{"a type in lower case", runHead + "  upgrade: {type: full, kubernetesVersion: 1.29.4}\n", []string{
			`spec.upgrade.type: found "full", expected one of Full, ControlPlaneOnly or NodeImageOnly`,
		}},
		{"two versions of a family", runHead + "  upgrade: {type: NodeImageOnly, nodeImageSelection: {type: Custom, customNodeImageVersions: [{version: U-1.0}, {version: U-2.0}]}}\n", []string{
			`spec.upgrade.nodeImageSelection.customNodeImageVersions[1].version: found "U-2.0", expected one version for family U; spec.upgrade.nodeImageSelection.customNodeImageVersions[0].version names it already`,
		}},
		{"Custom with nothing, Latest with a list", runHead + "  upgrade: {type: NodeImageOnly, nodeImageSelection: {type: Custom}}\n", []string{
			"spec.upgrade.nodeImageSelection.customNodeImageVersions: found nothing, expected at least one image beside type Custom, - version: AKSUbuntu-2204gen2containerd-202401.09.0",
		}},
		{"Latest with a list", runHead + "  upgrade: {type: NodeImageOnly, nodeImageSelection: {type: Latest, customNodeImageVersions: [{version: newest}]}}\n", []string{
			"spec.upgrade.nodeImageSelection.customNodeImageVersions: found 1 images, expected nothing unless type is Custom",
			`spec.upgrade.nodeImageSelection.customNodeImageVersions[0].version: found "newest", expected an image name that ends in its version, AKSUbuntu-2204gen2containerd-202401.09.0`,
		}},
		{"a namespace, a label and a long name", flotillaHead + "UpdateRun\nmetadata: {name: " + long + ", namespace: shop, labels: {tier: ' '}}\nspec:\n" + fullUpgrade, []string{
			`metadata.namespace: found "shop", expected nothing: kind UpdateRun lies in no namespace`,
			`metadata.labels.tier: found " ", expected at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit`,
			"metadata.name: found a name of 51 characters, expected 1 to 50 characters",
		}},
		{"a policy", runHead + fullUpgrade + "  policy: {memberTimeout: 45, pendingTimeout: -1h, onStopped: wait, chained: true, maxAllowedFailures: \"101%\"}\n", []string{
			`spec.policy.memberTimeout: found number 45, expected a duration like "45m" or "1h30m"`,
			`spec.policy.onStopped: found "wait", expected one of Skip, Wait or Fail`,
			`spec.policy.maxAllowedFailures: found "101%", expected a count from 0 or a percentage from 0% to 100%, such as 0 or "25%"`,
			"spec.policy.pendingTimeout: found -3600s, expected a duration that is not negative, such as 1h30m",
			"spec.policy.chained: found true, expected nothing; this option is not supported",
		}},
		{"an unknown field", runHead + fullUpgrade + "  paused: true\n", []string{
			"spec.paused: found an unknown field, expected one of strategyName, strategy, upgrade, policy, autoUpgradeProfile",
		}},
		{"a status is not looked at", runHead + fullUpgrade + "status: {stages: 7}\n", nil},
	})
}

func TestRulesOfUpdateStrategies(t *testing.T) {
	groups := "  stages:\n  - name: s\n    groups:\n"
	for range 51 {
		groups += "    - {name: g}\n"
	}
	checkRules(t, ringsHead, []rule{
		{"a strategy", "  stages:\n  - {name: " + strings.Repeat("a", 50) + ", groups: [{name: g1, maxConcurrency: \"50%\"}], afterStageWaitInSeconds: 3600}\n", nil},
		{"counts as numbers", "  stages:\n  - {name: s, maxConcurrency: 3, maxAllowedFailures: 0, groups: [{name: g1, maxConcurrency: 2}]}\n  policy: {maxAllowedFailures: 4}\n", nil},
		{"counts that are none", "  stages:\n  - {name: s, maxConcurrency: 1.5, maxAllowedFailures: -1, groups: [{name: g1, maxConcurrency: 0}]}\n", []string{
			`spec.stages[0].maxConcurrency: found "1.5", expected a count from 1 or a percentage from 1% to 100%, such as 3 or "25%"`,
			`spec.stages[0].maxAllowedFailures: found "-1", expected a count from 0 or a percentage from 0% to 100%, such as 0 or "25%"`,
			`spec.stages[0].groups[0].maxConcurrency: found "0", expected a count from 1 or a percentage from 1% to 100%, such as 3 or "25%"`,
		}},
		{"no stages", "  stages: []\n", []string{"spec.stages: found nothing, expected at least one stage"}},
		{"stages left out", "  policy: {}\n", []string{"spec.stages: found nothing, expected at least one stage"}},
		{"names", "  stages:\n  - {name: Prod, groups: [{name: -a}]}\n", []string{
			`spec.stages[0].name: found "Prod", expected lower-case letters, digits and inner dashes`,
			`spec.stages[0].groups[0].name: found "-a", expected lower-case letters, digits and inner dashes`,
		}},
		{"a stage twice, a group in two stages", "  stages:\n  - {name: s, groups: [{name: g}]}\n  - {name: s, groups: [{name: g}]}\n", []string{
			`spec.stages[1].name: found "s", expected a stage name of its own; spec.stages[0].name has it already`,
			`spec.stages[1].groups[0].name: found "g", expected a group name of its own; spec.stages[0].groups[0].name has it already`,
		}},
		{"neither groups nor selector", "  stages:\n  - {name: s}\n", []string{
			"spec.stages[0].groups: found nothing, expected groups, or a memberSelector for one group of all it selects",
		}},
		{"a selector that is none", "  stages:\n  - {name: s, memberSelector: {byLabel: 'a in b'}}\n", []string{
			"spec.stages[0].memberSelector.byLabel: found \"a in b\", expected a label selector such as env=prod,tier in (fe,be): " +
				"unable to parse requirement: found 'b' expected: '('",
		}},
		{"numbers", "  stages:\n  - {name: s, groups: [{name: g, maxConcurrency: \"0\"}], maxConcurrency: 2, maxAllowedFailures: some, afterStageWaitInSeconds: -1}\n", []string{
			`spec.stages[0].maxAllowedFailures: found "some", expected a count from 0 or a percentage from 0% to 100%, such as 0 or "25%"`,
			"spec.stages[0].afterStageWaitInSeconds: found -1, expected 0 to 2592000",
			`spec.stages[0].groups[0].maxConcurrency: found "0", expected a count from 1 or a percentage from 1% to 100%, such as 3 or "25%"`,
		}},
		{"gates", `  stages:
  - name: s
    beforeGates: [{type: Approval}, {type: Approval}, {type: Manual}, {type: ScheduledStart}]
    afterGates: [{type: ScheduledStart}, {type: Approval, scheduledStartConfiguration: {startDay: Monday, startTime: "02:00", utcOffset: "+00:00"}}]
    groups:
    - name: g
      beforeGates: [{type: ScheduledStart, scheduledStartConfiguration: {startDay: monday, startTime: "24:00", utcOffset: "+15:00"}}]
`, []string{
			`spec.stages[0].beforeGates[1].type: found "Approval", expected at most one gate of a type at one place`,
			`spec.stages[0].beforeGates[2].type: found "Manual", expected Approval or ScheduledStart`,
			"spec.stages[0].beforeGates[3].scheduledStartConfiguration: found nothing, expected startDay, startTime and utcOffset",
			`spec.stages[0].afterGates[0].type: found "ScheduledStart", expected Approval; a scheduled start is legal before a stage or group only`,
			"spec.stages[0].afterGates[1].scheduledStartConfiguration: found a schedule, expected nothing beside type Approval",
			`spec.stages[0].groups[0].beforeGates[0].scheduledStartConfiguration.startDay: found "monday", expected one of Sunday, Monday, Tuesday, Wednesday, Thursday, Friday or Saturday`,
			`spec.stages[0].groups[0].beforeGates[0].scheduledStartConfiguration.startTime: found "24:00", expected HH:MM from 00:00 to 23:59`,
			`spec.stages[0].groups[0].beforeGates[0].scheduledStartConfiguration.utcOffset: found "+15:00", expected ±HH:MM within 14 hours`,
		}},
		{"a schedule without its day", "  stages:\n  - {name: s, groups: [{name: g}], beforeGates: [{type: ScheduledStart, scheduledStartConfiguration: {startTime: \"02:00\", utcOffset: \"+14:00\"}}]}\n", []string{
			"spec.stages[0].beforeGates[0].scheduledStartConfiguration.startDay: found nothing, expected one of Sunday, Monday, Tuesday, Wednesday, Thursday, Friday or Saturday",
		}},
	})
	_, faults := decodeYAML(t, ringsHead+groups)
	require.Contains(t, faults, "spec.stages[0].groups: found 51 groups, expected at most 50")
}

func TestRulesOfProfiles(t *testing.T) {
	checkRules(t, profileHead, []rule{
		{"a channel", "  channel: Stable\n  strategyName: rings\n", nil},
		{"no channel", "  disabled: true\n", []string{
			"spec.channel: found nothing, expected one of Stable, Rapid, NodeImage, TargetKubernetesVersion or SecurityPatch",
		}},
		{"a target without a version", "  channel: TargetKubernetesVersion\n", []string{
			`spec.targetKubernetesVersion: found nothing, expected a minor version, "1.29"`,
		}},
		{"a target that is a patch", "  channel: TargetKubernetesVersion\n  targetKubernetesVersion: 1.30.5\n", []string{
			`spec.targetKubernetesVersion: found "1.30.5", expected a minor version, "1.29"`,
		}},
		{"Stable with a target and long term support", "  channel: Stable\n  targetKubernetesVersion: \"1.29\"\n  longTermSupport: true\n", []string{
			`spec.targetKubernetesVersion: found "1.29", expected nothing unless channel is TargetKubernetesVersion`,
			"spec.longTermSupport: found true, expected false unless channel is TargetKubernetesVersion",
		}},
		{"images with channel NodeImage", "  channel: NodeImage\n  nodeImageSelection: {type: Latest}\n", []string{
			`spec.nodeImageSelection: found "Latest", expected nothing beside channel NodeImage`,
		}},
		{"words", "  channel: Rapid\n  nodeImageSelection: {type: Custom}\n  triggerMode: Always\n  triggerWhen: Never\n  overlapPolicy: queue\n", []string{
			`spec.triggerMode: found "Always", expected one of Reconcile or OnRelease`,
			`spec.triggerWhen: found "Never", expected one of FirstRegion or AllMemberRegions`,
			`spec.overlapPolicy: found "queue", expected one of Queue, Supersede or Allow`,
			`spec.nodeImageSelection.type: found "Custom", expected one of Latest or Consistent`,
		}},
	})
}

func TestRulesOfMaintenanceAndCatalogs(t *testing.T) {
	checkRules(t, "", []rule{
		{"a window", windowHead + "    {schedule: {weekly: {intervalWeeks: 1, dayOfWeek: Saturday}}, durationHours: 4, startTime: \"02:00\", timeZone: Europe/Paris}\n", nil},
		{"no schedule", windowHead + "    {schedule: {}, durationHours: 3, startTime: \"2:00\"}\n", []string{
			"spec.aksManagedAutoUpgradeSchedule.schedule: found 0 kinds of schedule, expected exactly one of daily, weekly, absoluteMonthly and relativeMonthly",
			"spec.aksManagedAutoUpgradeSchedule.durationHours: found 3, expected 4 to 24 hours, always stated",
			`spec.aksManagedAutoUpgradeSchedule.startTime: found "2:00", expected HH:MM from 00:00 to 23:59`,
		}},
		{"two schedules, both clocks, dates", windowHead + `    schedule: {daily: {intervalDays: 8}, absoluteMonthly: {intervalMonths: 1, dayOfMonth: 32}}
    durationHours: 4
    startTime: "02:00"
    startDate: 2026-13-01
    utcOffset: "+02:00"
    timeZone: Europe/Paris
    notAllowedDates: [{start: "2026-12-24", end: "2026-12-23"}]
`, []string{
			"spec.aksManagedAutoUpgradeSchedule.schedule.daily.intervalDays: found 8, expected 1 to 7",
			"spec.aksManagedAutoUpgradeSchedule.schedule.absoluteMonthly.dayOfMonth: found 32, expected 1 to 31",
			"spec.aksManagedAutoUpgradeSchedule.schedule: found 2 kinds of schedule, expected exactly one of daily, weekly, absoluteMonthly and relativeMonthly",
			`spec.aksManagedAutoUpgradeSchedule.startDate: found "2026-13-01", expected a date, 2026-12-23`,
			`spec.aksManagedAutoUpgradeSchedule.timeZone: found "Europe/Paris" beside utcOffset "+02:00", expected one of the two: timeZone follows the clock of a place, utcOffset never changes`,
			`spec.aksManagedAutoUpgradeSchedule.notAllowedDates[0].end: found "2026-12-23", expected a day not before start "2026-12-24"`,
		}},
		{"the name of a member", flotillaHead + "MemberMaintenance\nmetadata: {name: Berlin}\nspec: {}\n", []string{
			`metadata.name: found "Berlin", expected lower-case letters, digits and '-', beginning and ending with a letter or digit`,
		}},
		{"a catalog", catalogHead + "  kubernetes: [{version: 1.29.9, state: GA, regions: [weu], publishedAt: \"2026-11-18T12:00:00Z\"}]\n  nodeImages: [{family: U, version: 202401.09.0}]\n", nil},
		{"faults of a catalog", catalogHead + "  kubernetes: [{version: \"1.29\", state: Stable}, {version: v1.29.9, state: GA}, {version: 1.29.9, state: GA}]\n  nodeImages: [{family: '', version: new}]\n", []string{
			`spec.kubernetes[0].version: found "1.29", expected a version x.y.z, 1.29.9`,
			`spec.kubernetes[0].state: found "Stable", expected one of GA, Preview, Deprecated or LTS`,
			`spec.kubernetes[2].version: found "1.29.9", expected each version once; spec.kubernetes[1].version lists it already`,
			"spec.nodeImages[0].family: found nothing, expected an image family, AKSUbuntu-2204gen2containerd",
			`spec.nodeImages[0].version: found "new", expected two or three numbers with dots between, 202401.09.0`,
		}},
		{"a gate", flotillaHead + "Gate\nmetadata: {name: 0b0c6b5e-5f3f-8d0e-9f0a-1c2d3e4f5a6b}\nspec: {}\n", []string{
			`kind: found "Gate", expected another kind: gates are made and removed by the hub alone; complete one with flotilla run approve`,
		}},
		{"a gate of somebody else is content", "apiVersion: traffic.example.com/v1\nkind: Gate\nmetadata: {name: a}\n", nil},
		{"another version", "apiVersion: flotilla.io/v1\nkind: UpdateRun\nmetadata: {name: r1}\nspec:\n" + fullUpgrade, []string{
			`apiVersion: found "flotilla.io/v1", expected flotilla.io/v1alpha1`,
		}},
		{"a kind misspelt", flotillaHead + "UpdateStratgy\nmetadata: {name: a}\nspec: {stages: [{name: s, memberSelector: {byLabel: ''}}]}\n", []string{
			`kind: found "UpdateStratgy", expected UpdateStrategy (did you mean that?)`,
		}},
	})
}

func TestFaultsOfRunsAreCorrected(t *testing.T) {
	d, _ := decodeYAML(t, flotillaHead+`UpdateRun
metadata: {name: R_1}
spec:
  upgrade: {type: full, kubernetesVersion: 1.29.9}
  strategy:
    stages:
      name: Canary
      maxConcurrency: 2
      beforeGates: [{type: ScheduledStart}]
`)
	require.Equal(t, `apiVersion: flotilla.io/v1alpha1
kind: UpdateRun
metadata:
  name: r-1
spec:
  strategy:
    stages:
    - beforeGates:
      - type: ScheduledStart
        scheduledStartConfiguration:
          startDay: Saturday
          startTime: "02:00"
          utcOffset: "+00:00"
      maxConcurrency: "2"
      name: canary
      groups:
      - name: default
  upgrade:
    kubernetesVersion: "1.29.9"
    type: Full
`, d.Corrected)
}

func TestACountIsTheSameAsANumberAndAsAString(t *testing.T) {
	strategies := make([]any, 2)
	for i, three := range []string{"3", `"3"`} {
		d, faults := decodeYAML(t, ringsHead+"  stages: [{name: s, maxConcurrency: "+three+", groups: [{name: g}]}]\n")
		require.Empty(t, faults)
		strategies[i] = d.Value
	}
	require.Equal(t, strategies[0], strategies[1])
	require.Equal(t, strict.CountOrPercent("3"), strategies[0].(*api.UpdateStrategy).Spec.Stages[0].MaxConcurrency)
	var read strict.CountOrPercent
	require.NoError(t, json.Unmarshal([]byte("3"), &read))
	require.Equal(t, strict.CountOrPercent("3"), read)
	require.Error(t, json.Unmarshal([]byte("true"), &read))
}

// upgradeDocuments are one of each kind, with every field that is not a default.
var upgradeDocuments = []string{
	runHead + "  strategyName: rings\n" + fullUpgrade + "  policy: {memberTimeout: 1h30m, strict: true}\n",
	ringsHead + "  stages: [{name: s, memberSelector: {byLabel: env=prod}, afterGates: [{type: Approval, displayName: fine}]}]\n  policy: {onStopped: Fail}\n",
	profileHead + "  channel: TargetKubernetesVersion\n  targetKubernetesVersion: \"1.29\"\n  longTermSupport: true\n",
	catalogHead + "  kubernetes: [{version: 1.29.9, state: GA, publishedAt: \"2026-11-18T12:00:00Z\"}]\n  trackerURL: https://releases.example.com\n",
	windowHead + "    {schedule: {daily: {intervalDays: 1}}, durationHours: 4, startTime: \"22:00\", notAllowedDates: [{start: \"2026-12-24\", end: \"2026-12-26\"}]}\n",
}

func TestUpgradeDocumentsEncodeAndDecodeAgain(t *testing.T) {
	for _, doc := range upgradeDocuments {
		d, faults := decodeYAML(t, doc)
		require.Empty(t, faults)
		require.False(t, d.IsContent())
		require.True(t, Known(d.Object.APIVersion, d.Object.Kind))
		require.Equal(t, d.Object.Name, d.Meta().Name)
		raw, err := json.Marshal(d.Value)
		require.NoError(t, err)
		again, found := Decode(raw)
		require.NoError(t, found.Err())
		require.Equal(t, d.Value, again.Value)
	}
}

func TestWhatTheHubSetsIsTakenOut(t *testing.T) {
	d, faults := decodeYAML(t, strings.Replace(upgradeDocuments[0], "{name: r1}", "{name: r1, uid: u, resourceVersion: \"1.2\", generation: 3}", 1)+"status: {}\n")
	require.Empty(t, faults)
	require.Equal(t, "ignored, because the hub sets it: metadata.generation, metadata.resourceVersion, metadata.uid, status", d.DropServerSet())
	require.Empty(t, As[api.UpdateRun](&d).UID)
	require.Zero(t, As[api.UpdateRun](&d).Generation)
	require.Equal(t, "1.2", d.ResourceVersion)
}

func TestNotesOfRunsAndCatalogs(t *testing.T) {
	d, _ := decodeYAML(t, runHead+"  upgrade: {type: ControlPlaneOnly, kubernetesVersion: \"1.29\", nodeImageSelection: {type: Latest}}\n")
	require.Equal(t, []string{"spec.upgrade.nodeImageSelection: a run of type ControlPlaneOnly touches no node images"}, d.Notes)
	d, _ = decodeYAML(t, strings.Replace(catalogHead, "default", "next", 1)+"  kubernetes: []\n")
	require.Equal(t, []string{"metadata.name: only the catalog named default counts"}, d.Notes)
}

func TestWhatMayNotChange(t *testing.T) {
	run := func(doc string) *api.UpdateRun { d, _ := decodeYAML(t, runHead+doc); return As[api.UpdateRun](&d) }
	was := run("  upgrade: {type: Full, kubernetesVersion: 1.29.9}\n")
	require.Empty(t, upgrades.UpdateRunChange(was, run("  upgrade: {type: Full, kubernetesVersion: 1.30.5, nodeImageSelection: {type: Latest}}\n")))
	require.Equal(t, []string{
		"spec.upgrade.nodeImageSelection: found another selection, expected the one the run was created with; create another run",
		`spec.autoUpgradeProfile: found "stable", expected what the hub set: nothing`,
	}, lines(upgrades.UpdateRunChange(was, run("  upgrade: {type: Full, kubernetesVersion: 1.29.9, nodeImageSelection: {type: Consistent}}\n  autoUpgradeProfile: stable\n"))))

	profile := func(strategy string) *api.AutoUpgradeProfile {
		return &api.AutoUpgradeProfile{Spec: api.AutoUpgradeProfileSpec{Channel: api.ChannelTarget, StrategyName: strategy, TargetKubernetesVersion: "1.99"}}
	}
	require.Equal(t, []string{`spec.strategyName: found "b", expected the one the profile was created with, "a"`}, lines(upgrades.AutoUpgradeProfileChange(profile("b"), profile("a"))))
	require.Contains(t, lines(upgrades.AutoUpgradeProfile(profile("a"), []string{"1.28", "1.29"})), `spec.targetKubernetesVersion: found "1.99", expected a minor that is released: 1.28 or 1.29`)
}
