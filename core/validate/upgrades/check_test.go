package upgrades_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/validate/upgrades"
)

// faultPaths are the paths of faults, in order, and none of them is without words.
func faultPaths(t *testing.T, faults strict.Faults) []string {
	t.Helper()
	var out []string
	for _, f := range faults {
		require.NotEmpty(t, f.Found, f.Path)
		require.NotEmpty(t, f.Expected, f.Path)
		require.NotEmpty(t, f.Object)
		out = append(out, f.Path)
	}
	return out
}

func soundStrategy() *api.UpdateStrategy {
	s := &api.UpdateStrategy{ObjectMeta: metav1.ObjectMeta{Name: "st"}}
	s.Spec.Stages = []api.UpdateStage{
		{
			Name: "canary", MaxConcurrency: "25%", MaxAllowedFailures: "0", AfterStageWaitInSeconds: api.MaxStageWait,
			Groups:     []api.UpdateGroup{{Name: "g1", MaxConcurrency: "1", MaxAllowedFailures: "100%", MemberSelector: &api.MemberSelector{ByLabel: "env in (dev,test),!gone"}}},
			AfterGates: []api.GateConfiguration{{Type: api.GateApproval, DisplayName: "go"}},
		},
		{
			Name: "prod", MemberSelector: &api.MemberSelector{ByLabel: "env=prod"},
			BeforeGates: []api.GateConfiguration{
				{Type: api.GateApproval},
				{Type: api.GateScheduledStart, ScheduledStartConfiguration: &api.ScheduledStart{StartDay: "Saturday", StartTime: "23:59", UTCOffset: "-14:00"}},
			},
		},
	}
	return s
}

func TestCheckUpdateStrategy(t *testing.T) {
	require.Empty(t, upgrades.UpdateStrategy(soundStrategy()))
	gate := func(configured ...api.GateConfiguration) func(*api.UpdateStrategySpec) {
		return func(s *api.UpdateStrategySpec) { s.Stages[0].Groups[0].BeforeGates = configured }
	}
	scheduled := func(day, at, offset string) api.GateConfiguration {
		return api.GateConfiguration{Type: api.GateScheduledStart, ScheduledStartConfiguration: &api.ScheduledStart{StartDay: day, StartTime: at, UTCOffset: offset}}
	}
	on := true
	cases := []struct {
		name   string
		change func(*api.UpdateStrategySpec)
		want   []string
	}{
		{"no stages", func(s *api.UpdateStrategySpec) { s.Stages = nil }, []string{"spec.stages"}},
		{"too many stages", func(s *api.UpdateStrategySpec) {
			s.Stages = nil
			for i := range 51 {
				name := "s" + strings.Repeat("x", i)
				s.Stages = append(s.Stages, api.UpdateStage{Name: name[:min(len(name), 50)], MemberSelector: &api.MemberSelector{}})
			}
		}, []string{"spec.stages", "spec.stages[50].name"}},
		{"stage name twice", func(s *api.UpdateStrategySpec) { s.Stages[1].Name = "canary" }, []string{"spec.stages[1].name"}},
		{"stage without anything", func(s *api.UpdateStrategySpec) { s.Stages[1].MemberSelector = nil }, []string{"spec.stages[1].groups"}},
		{"group name twice in a stage", func(s *api.UpdateStrategySpec) {
			s.Stages[0].Groups = append(s.Stages[0].Groups, api.UpdateGroup{Name: "g1"})
		}, []string{"spec.stages[0].groups[1].name"}},
		{"names", func(s *api.UpdateStrategySpec) {
			s.Stages[0].Name, s.Stages[0].Groups[0].Name = "", "Up"
		}, []string{"spec.stages[0].name", "spec.stages[0].groups[0].name"}},
		{"selector that is none", func(s *api.UpdateStrategySpec) {
			s.Stages[1].MemberSelector.ByLabel = "env="
			s.Stages[0].Groups[0].MemberSelector.ByLabel = "env in dev"
		}, []string{"spec.stages[0].groups[0].memberSelector.byLabel"}},
		{"selector too long", func(s *api.UpdateStrategySpec) {
			s.Stages[1].MemberSelector.ByLabel = strings.Repeat("a", 513)
		}, []string{"spec.stages[1].memberSelector.byLabel"}},
		{"no concurrency", func(s *api.UpdateStrategySpec) { s.Stages[0].MaxConcurrency = "0" }, []string{"spec.stages[0].maxConcurrency"}},
		{"concurrency above 100%", func(s *api.UpdateStrategySpec) { s.Stages[0].Groups[0].MaxConcurrency = "101%" }, []string{"spec.stages[0].groups[0].maxConcurrency"}},
		{"failures with a leading zero", func(s *api.UpdateStrategySpec) { s.Stages[0].MaxAllowedFailures = "01" }, []string{"spec.stages[0].maxAllowedFailures"}},
		{"wait too long", func(s *api.UpdateStrategySpec) { s.Stages[0].AfterStageWaitInSeconds++ }, []string{"spec.stages[0].afterStageWaitInSeconds"}},
		{"wait below zero", func(s *api.UpdateStrategySpec) { s.Stages[0].AfterStageWaitInSeconds = -1 }, []string{"spec.stages[0].afterStageWaitInSeconds"}},
		{"gate of no type", gate(api.GateConfiguration{Type: "Vote"}), []string{"spec.stages[0].groups[0].beforeGates[0].type"}},
		{"gate twice", gate(api.GateConfiguration{Type: api.GateApproval}, api.GateConfiguration{Type: api.GateApproval}), []string{"spec.stages[0].groups[0].beforeGates[1].type"}},
		{"approval with a time", gate(api.GateConfiguration{Type: api.GateApproval, ScheduledStartConfiguration: &api.ScheduledStart{}}), []string{"spec.stages[0].groups[0].beforeGates[0].scheduledStartConfiguration"}},
		{"scheduled start without one", gate(api.GateConfiguration{Type: api.GateScheduledStart}), []string{"spec.stages[0].groups[0].beforeGates[0].scheduledStartConfiguration"}},
		{"scheduled start with faults", gate(scheduled("Funday", "24:00", "+14:01")), []string{
			"spec.stages[0].groups[0].beforeGates[0].scheduledStartConfiguration.startDay",
			"spec.stages[0].groups[0].beforeGates[0].scheduledStartConfiguration.startTime",
			"spec.stages[0].groups[0].beforeGates[0].scheduledStartConfiguration.utcOffset",
		}},
		{"display name too long", gate(api.GateConfiguration{Type: api.GateApproval, DisplayName: strings.Repeat("x", 101)}), []string{"spec.stages[0].groups[0].beforeGates[0].displayName"}},
		{"scheduled start after a stage", func(s *api.UpdateStrategySpec) {
			s.Stages[0].AfterGates = []api.GateConfiguration{scheduled("Monday", "00:00", "+00:00")}
		}, []string{"spec.stages[0].afterGates[0].type"}},
		{"policy words", func(s *api.UpdateStrategySpec) {
			s.Policy = &api.UpdatePolicy{OnIneligible: "Ask", OnStopped: "Start", OnUnreachable: "Call", OnPendingTimeout: "Wait", Checks: "Maybe", MaxAllowedFailures: "-1"}
		}, []string{"spec.policy.onIneligible", "spec.policy.onStopped", "spec.policy.onUnreachable", "spec.policy.onPendingTimeout", "spec.policy.checks", "spec.policy.maxAllowedFailures"}},
		{"negative durations", func(s *api.UpdateStrategySpec) {
			s.Policy = &api.UpdatePolicy{MemberTimeout: &metav1.Duration{Duration: -time.Second}, PendingTimeout: &metav1.Duration{Duration: -1}, MinRemaining: &metav1.Duration{Duration: -1}}
		}, []string{"spec.policy.memberTimeout", "spec.policy.pendingTimeout", "spec.policy.minRemaining"}},
		{"options that are not supported", func(s *api.UpdateStrategySpec) {
			s.Policy = &api.UpdatePolicy{Chained: &on, CatchUp: &on, SplitAtWindowClose: &on, AllowRecoveryPath: &on}
		}, []string{"spec.policy.chained", "spec.policy.catchUp", "spec.policy.splitAtWindowClose", "spec.policy.allowRecoveryPath"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := soundStrategy()
			c.change(&s.Spec)
			require.Equal(t, c.want, faultPaths(t, upgrades.UpdateStrategy(s)))
		})
	}
}

func TestCheckUpdateRun(t *testing.T) {
	custom := func(images ...string) *api.NodeImageSelection {
		s := &api.NodeImageSelection{Type: api.ImagesCustom}
		for _, image := range images {
			s.CustomNodeImageVersions = append(s.CustomNodeImageVersions, api.NodeImageVersion{Version: image})
		}
		return s
	}
	const images = "spec.upgrade.nodeImageSelection"
	cases := []struct {
		name string
		spec api.UpdateRunSpec
		want []string
	}{
		{"by name", api.UpdateRunSpec{StrategyName: "st", Upgrade: api.Upgrade{Type: api.UpgradeFull, KubernetesVersion: "v1.29"}}, nil},
		{"one by one", api.UpdateRunSpec{Upgrade: api.Upgrade{Type: api.UpgradeNodeImageOnly, NodeImageSelection: custom("A-1.2", "B-1.2.3")}}, nil},
		{"both sequences", api.UpdateRunSpec{StrategyName: "st", Strategy: &soundStrategy().Spec.RunStrategy, Upgrade: api.Upgrade{Type: api.UpgradeNodeImageOnly}}, []string{"spec.strategyName"}},
		{"strategy name", api.UpdateRunSpec{StrategyName: "St", Upgrade: api.Upgrade{Type: api.UpgradeNodeImageOnly}}, []string{"spec.strategyName"}},
		{"inline faults", api.UpdateRunSpec{Strategy: &api.RunStrategy{}, Upgrade: api.Upgrade{Type: api.UpgradeNodeImageOnly}}, []string{"spec.strategy.stages"}},
		{"no type", api.UpdateRunSpec{Upgrade: api.Upgrade{KubernetesVersion: "1.29.9"}}, []string{"spec.upgrade.type"}},
		{"version of four", api.UpdateRunSpec{Upgrade: api.Upgrade{Type: api.UpgradeFull, KubernetesVersion: "1.29.9.1"}}, []string{"spec.upgrade.kubernetesVersion"}},
		{"image without version", api.UpdateRunSpec{Upgrade: api.Upgrade{Type: api.UpgradeNodeImageOnly, NodeImageSelection: custom("A-x")}}, []string{images + ".customNodeImageVersions[0].version"}},
		{"family twice", api.UpdateRunSpec{Upgrade: api.Upgrade{Type: api.UpgradeNodeImageOnly, NodeImageSelection: custom("A-1.2", "A-1.3")}}, []string{images + ".customNodeImageVersions[1].version"}},
		{"selection of no type", api.UpdateRunSpec{Upgrade: api.Upgrade{Type: api.UpgradeNodeImageOnly, NodeImageSelection: &api.NodeImageSelection{Type: "Oldest"}}}, []string{images + ".type"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			run := &api.UpdateRun{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Spec: c.spec}
			require.Equal(t, c.want, faultPaths(t, upgrades.UpdateRun(run)))
		})
	}
}

func TestCheckRunChange(t *testing.T) {
	run := func(selection *api.NodeImageSelection, profile string) *api.UpdateRun {
		return &api.UpdateRun{Spec: api.UpdateRunSpec{AutoUpgradeProfile: profile, Upgrade: api.Upgrade{Type: api.UpgradeNodeImageOnly, NodeImageSelection: selection}}}
	}
	latest := &api.NodeImageSelection{Type: api.ImagesLatest}
	one := &api.NodeImageSelection{Type: api.ImagesCustom, CustomNodeImageVersions: []api.NodeImageVersion{{Version: "A-1.2"}}}
	two := &api.NodeImageSelection{Type: api.ImagesCustom, CustomNodeImageVersions: []api.NodeImageVersion{{Version: "A-1.3"}}}
	both := &api.NodeImageSelection{Type: api.ImagesCustom, CustomNodeImageVersions: []api.NodeImageVersion{{Version: "A-1.2"}, {Version: "B-1.3"}}}
	require.Empty(t, upgrades.UpdateRunChange(run(nil, "p"), run(latest, "p")), "Latest is the default")
	require.Empty(t, upgrades.UpdateRunChange(run(one, ""), run(one, "")))
	const selection = "spec.upgrade.nodeImageSelection"
	require.Equal(t, []string{selection}, faultPaths(t, upgrades.UpdateRunChange(run(latest, ""), run(one, ""))))
	require.Equal(t, []string{selection}, faultPaths(t, upgrades.UpdateRunChange(run(one, ""), run(two, ""))))
	require.Equal(t, []string{selection}, faultPaths(t, upgrades.UpdateRunChange(run(one, ""), run(both, ""))))
	require.Equal(t, []string{"spec.autoUpgradeProfile"}, faultPaths(t, upgrades.UpdateRunChange(run(nil, "p"), run(nil, ""))))
}

func TestCheckAutoUpgradeProfile(t *testing.T) {
	published := []string{"1.28", "1.29"}
	cases := []struct {
		name string
		spec api.AutoUpgradeProfileSpec
		want []string
	}{
		{"stable", api.AutoUpgradeProfileSpec{Channel: api.ChannelStable, NodeImageSelection: &api.NodeImageSelection{Type: api.ImagesConsistent}}, nil},
		{"target", api.AutoUpgradeProfileSpec{Channel: api.ChannelTarget, TargetKubernetesVersion: "v1.29", LongTermSupport: true}, nil},
		{"no channel", api.AutoUpgradeProfileSpec{}, []string{"spec.channel"}},
		{
			"words",
			api.AutoUpgradeProfileSpec{Channel: api.ChannelRapid, StrategyName: "-", TriggerMode: "Never", TriggerWhen: "Soon", OverlapPolicy: "Fight"},
			[]string{"spec.strategyName", "spec.triggerMode", "spec.triggerWhen", "spec.overlapPolicy"},
		},
		{
			"custom images",
			api.AutoUpgradeProfileSpec{Channel: api.ChannelRapid, NodeImageSelection: &api.NodeImageSelection{Type: api.ImagesCustom, CustomNodeImageVersions: []api.NodeImageVersion{{Version: "A-1.2"}}}},
			[]string{"spec.nodeImageSelection.type", "spec.nodeImageSelection.customNodeImageVersions"},
		},
		{"images beside SecurityPatch", api.AutoUpgradeProfileSpec{Channel: api.ChannelSecurityPatch, NodeImageSelection: &api.NodeImageSelection{Type: api.ImagesLatest}}, []string{"spec.nodeImageSelection"}},
		{"target that is not released", api.AutoUpgradeProfileSpec{Channel: api.ChannelTarget, TargetKubernetesVersion: "1.30"}, []string{"spec.targetKubernetesVersion"}},
		{"policy", api.AutoUpgradeProfileSpec{Channel: api.ChannelStable, Policy: &api.UpdatePolicy{Checks: "No"}}, []string{"spec.policy.checks"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p := &api.AutoUpgradeProfile{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: c.spec}
			require.Equal(t, c.want, faultPaths(t, upgrades.AutoUpgradeProfile(p, published)))
		})
	}
	open := &api.AutoUpgradeProfile{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: api.AutoUpgradeProfileSpec{Channel: api.ChannelTarget, TargetKubernetesVersion: "1.77"}}
	require.Empty(t, upgrades.AutoUpgradeProfile(open, nil), "without a catalog nothing is known to be missing")
}

func TestCheckVersionCatalog(t *testing.T) {
	c := &api.VersionCatalog{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	c.Spec.Kubernetes = []api.KubernetesRelease{{Version: "1.29.4", State: api.ReleaseGA}, {Version: "1.30.0", State: api.ReleasePreview}}
	c.Spec.NodeImages = []api.NodeImageRelease{{Family: "A", Version: "202401.09.0"}, {Family: "B", Version: "202401.09.0"}}
	require.Empty(t, upgrades.VersionCatalog(c))

	c.Spec.Kubernetes = append(c.Spec.Kubernetes, api.KubernetesRelease{Version: "v1.29.4", State: "Old"}, api.KubernetesRelease{Version: "1.29", State: api.ReleaseLTS})
	c.Spec.NodeImages = append(c.Spec.NodeImages, api.NodeImageRelease{Family: "A", Version: "202401.09.0"}, api.NodeImageRelease{Version: "new"})
	require.Equal(t, []string{
		"spec.kubernetes[2].state", "spec.kubernetes[2].version", "spec.kubernetes[3].version",
		"spec.nodeImages[2].version", "spec.nodeImages[3].family", "spec.nodeImages[3].version",
	}, faultPaths(t, upgrades.VersionCatalog(c)))
}

func TestCheckMemberMaintenance(t *testing.T) {
	w := func() *api.MaintenanceWindow {
		return &api.MaintenanceWindow{Schedule: api.MaintenanceSchedule{Daily: &api.DailySchedule{IntervalDays: 1}}, DurationHours: 4, StartTime: "00:00", TimeZone: "Europe/Paris"}
	}
	known := func(zone string) bool { return zone == "Europe/Paris" }
	m := &api.MemberMaintenance{ObjectMeta: metav1.ObjectMeta{Name: "m1"}, Spec: api.MaintenanceConfiguration{AutoUpgrade: w(), NodeOSUpgrade: w(), Default: w()}}
	require.Empty(t, upgrades.MemberMaintenance(m, known))
	m.Spec.AutoUpgrade.StartDate = "2026-02-30"
	m.Spec.NodeOSUpgrade.TimeZone = "Mars/Olympus"
	m.Spec.Default.DurationHours = 25
	require.Equal(t, []string{
		"spec.aksManagedAutoUpgradeSchedule.startDate", "spec.aksManagedNodeOSUpgradeSchedule.timeZone", "spec.default.durationHours",
	}, faultPaths(t, upgrades.MemberMaintenance(m, known)))
}

// How often a window may come is bounded on both sides, and so is the day of a month.
func TestMaintenanceWindowsComeWithinBounds(t *testing.T) {
	daily := func(n int) api.MaintenanceSchedule {
		return api.MaintenanceSchedule{Daily: &api.DailySchedule{IntervalDays: n}}
	}
	weekly := func(n int) api.MaintenanceSchedule {
		return api.MaintenanceSchedule{Weekly: &api.WeeklySchedule{IntervalWeeks: n, DayOfWeek: "Monday"}}
	}
	monthly := func(n int) api.MaintenanceSchedule {
		return api.MaintenanceSchedule{AbsoluteMonthly: &api.AbsoluteMonthlySchedule{IntervalMonths: n, DayOfMonth: 1}}
	}
	day := func(n int) api.MaintenanceSchedule {
		return api.MaintenanceSchedule{AbsoluteMonthly: &api.AbsoluteMonthlySchedule{IntervalMonths: 1, DayOfMonth: n}}
	}
	relative := func(n int) api.MaintenanceSchedule {
		return api.MaintenanceSchedule{RelativeMonthly: &api.RelativeMonthlySchedule{IntervalMonths: n, WeekIndex: "First", DayOfWeek: "Monday"}}
	}
	for path, bounds := range map[string]struct {
		of   func(int) api.MaintenanceSchedule
		most int
	}{
		"schedule.daily.intervalDays": {daily, 7}, "schedule.weekly.intervalWeeks": {weekly, 4}, "schedule.absoluteMonthly.intervalMonths": {monthly, 6},
		"schedule.absoluteMonthly.dayOfMonth": {day, 31}, "schedule.relativeMonthly.intervalMonths": {relative, 6},
	} {
		faultsOf := func(n int) []string {
			m := &api.MemberMaintenance{ObjectMeta: metav1.ObjectMeta{Name: "m1"}}
			m.Spec.Default = &api.MaintenanceWindow{Schedule: bounds.of(n), DurationHours: 4, StartTime: "00:00"}
			return faultPaths(t, upgrades.MemberMaintenance(m, nil))
		}
		require.Empty(t, faultsOf(1), path)
		require.Empty(t, faultsOf(bounds.most), path)
		require.Equal(t, []string{"spec.default." + path}, faultsOf(0))
		require.Equal(t, []string{"spec.default." + path}, faultsOf(bounds.most+1))
	}
	for hours, sound := range map[int]bool{3: false, 4: true, 24: true, 25: false} {
		w := api.MaintenanceWindow{Schedule: daily(1), DurationHours: hours, StartTime: "00:00"}
		faults := upgrades.MaintenanceWindow("w", &w, nil)
		require.Equal(t, sound, len(faults) == 0, "%d hours: %v", hours, faults)
	}
}

func TestRefusal(t *testing.T) {
	statuses := map[string]string{
		api.CodeInvalidArgument: "400", api.CodeNoMembers: "400", api.CodeDuplicateMember: "400", api.CodeGroupNotFound: "400",
		api.CodeUnknownKubernetesVersion: "400", api.CodeRunNotFound: "404", api.CodeSkipTargetNotFound: "404", api.CodeInvalidState: "409",
		api.CodeTargetInProgress: "409", api.CodeTargetAlreadyTerminal: "409", api.CodeGateNotPending: "409", api.CodeNameExists: "409",
		api.CodeIneligible: "409", api.CodeETagMismatch: "412", api.CodeLimitExceeded: "422",
	}
	for code, status := range statuses {
		require.Equal(t, status, (&api.Refusal{Code: code}).Status(), code)
	}
	r := &api.Refusal{Code: api.CodeIneligible, Message: "not now", Members: []string{"m1", "m2"}, Next: "wait", Faults: strict.Faults{{Path: "p", Found: "x", Expected: "y"}}}
	require.Equal(t, "Ineligible: not now\np: found x, expected y", r.Error())
	require.Equal(t, &api.Failure{Code: "409", Message: "Ineligible: not now: m1, m2", Faults: r.Faults, Next: "wait"}, r.Failure())
	require.Nil(t, api.InvalidArgument(nil))
}

func TestNodeImageFamily(t *testing.T) {
	for image, want := range map[string][2]string{
		"AKSUbuntu-2204gen2containerd-202401.09.0":  {"AKSUbuntu-2204gen2containerd", "202401.09.0"},
		"AKSWindows-23H2-gen2-25398.1425.250214":    {"AKSWindows-23H2-gen2", "25398.1425.250214"},
		"AKSUbuntu-1804gen2containerd-2022.12.13":   {"AKSUbuntu-1804gen2containerd", "2022.12.13"},
		"AKSUbuntu-2204gen2arm64containerd-2024.1x": {"", ""},
		"202401.09.0": {"", ""},
	} {
		family, version, ok := api.NodeImageFamily(image)
		require.Equal(t, want, [2]string{family, version}, image)
		require.Equal(t, want[0] != "", ok)
	}
}
