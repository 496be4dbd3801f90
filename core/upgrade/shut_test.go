package upgrade_test

import (
	"testing"

	"github.com/stretchr/testify/require"

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
