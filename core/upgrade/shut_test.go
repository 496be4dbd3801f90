package upgrade_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/upgrade"
)

// A member whose windows are ruled out for longer than anybody looks ahead is named when a run is made.
func TestARunWarnsOfWindowsThatDoNotOpen(t *testing.T) {
	run, _, view := silentPair(t, "1.29.2")
	a, _ := view.Fleet.Member("a")
	facts := a.MemberFacts
	facts.Maintenance = &api.MaintenanceConfiguration{AutoUpgrade: &api.MaintenanceWindow{
		Schedule:      api.MaintenanceSchedule{Daily: &api.DailySchedule{IntervalDays: 1}},
		DurationHours: 4, StartTime: "02:00", NotAllowedDates: []api.DateSpan{{Start: "2026-01-01", End: "2029-12-31"}},
	}}
	require.NoError(t, view.Fleet.Set(facts))
	status, refusal := upgrade.Create(run, nil, view, benchNow)
	require.Nil(t, refusal)
	require.Contains(t, status.Warnings, "maintenance windows that do not open within 400 days keep waiting: a")
	run.Spec.Upgrade = api.Upgrade{Type: api.UpgradeNodeImageOnly}
	status, refusal = upgrade.Create(run, nil, view, benchNow)
	require.Nil(t, refusal)
	for _, text := range status.Warnings {
		require.NotContains(t, text, "do not open")
	}
}

// TestRunsAndStrategiesWarnOfWindowsThatAreTooShort asks for more of an open window than any window of a has. What
// never opens is told of alone, and members without a schedule may start at any time.
func TestRunsAndStrategiesWarnOfWindowsThatAreTooShort(t *testing.T) {
	run, _, view := silentPair(t, "1.29.2")
	a, _ := view.Fleet.Member("a")
	facts := a.MemberFacts
	facts.Maintenance = &api.MaintenanceConfiguration{AutoUpgrade: &api.MaintenanceWindow{
		Schedule: api.MaintenanceSchedule{Weekly: &api.WeeklySchedule{IntervalWeeks: 1, DayOfWeek: "Sunday"}}, DurationHours: 6, StartTime: "02:00",
	}}
	require.NoError(t, view.Fleet.Set(facts))
	const tooShort = "no maintenance window for upgrades is open for 6h30m0s within 400 days, so that these members keep waiting: a"
	warnings := func(least time.Duration, upgradeType string) []string {
		run.Spec.Policy = &api.UpdatePolicy{MinRemaining: &metav1.Duration{Duration: least}}
		run.Spec.Upgrade.Type = upgradeType
		if upgradeType == api.UpgradeNodeImageOnly {
			run.Spec.Upgrade = api.Upgrade{Type: upgradeType}
		}
		status, refusal := upgrade.Create(run, nil, view, benchNow)
		require.Nil(t, refusal)
		return slices.DeleteFunc(status.Warnings, func(text string) bool { return !strings.Contains(text, "window") })
	}
	require.Equal(t, []string{"policy.minRemaining: " + tooShort}, warnings(6*time.Hour+30*time.Minute, run.Spec.Upgrade.Type))
	require.Empty(t, warnings(6*time.Hour, run.Spec.Upgrade.Type), "a window of 6h is open for 6h")
	require.Empty(t, warnings(0, run.Spec.Upgrade.Type))

	strategy := &api.UpdateStrategy{Spec: api.UpdateStrategySpec{
		RunStrategy: api.RunStrategy{Stages: []api.UpdateStage{{Name: "all", MemberSelector: &api.MemberSelector{ByLabel: "!nothing"}}}},
		Policy:      &api.UpdatePolicy{MinRemaining: &metav1.Duration{Duration: 390 * time.Minute}},
	}}
	require.Equal(t, []string{"spec.policy.minRemaining: " + tooShort}, upgrade.StrategyWarnings(strategy, view.Fleet, benchNow))

	facts.Maintenance.AutoUpgrade.NotAllowedDates = []api.DateSpan{{Start: "2026-01-01", End: "2029-12-31"}}
	require.NoError(t, view.Fleet.Set(facts))
	require.Equal(t, []string{"maintenance windows that do not open within 400 days keep waiting: a"}, warnings(390*time.Minute, run.Spec.Upgrade.Type))
	require.Empty(t, warnings(390*time.Minute, api.UpgradeNodeImageOnly))
}
