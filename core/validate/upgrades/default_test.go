package upgrades_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/validate/upgrades"
)

func TestDefaultsOfRunsAndProfiles(t *testing.T) {
	r := &api.UpdateRun{Spec: api.UpdateRunSpec{Upgrade: api.Upgrade{Type: api.UpgradeFull}}}
	upgrades.DefaultRun(r)
	require.Equal(t, &api.NodeImageSelection{Type: api.ImagesLatest}, r.Spec.Upgrade.NodeImageSelection)
	r = &api.UpdateRun{Spec: api.UpdateRunSpec{Upgrade: api.Upgrade{Type: api.UpgradeControlPlaneOnly}}}
	upgrades.DefaultRun(r)
	require.Nil(t, r.Spec.Upgrade.NodeImageSelection)

	p := &api.AutoUpgradeProfile{Spec: api.AutoUpgradeProfileSpec{Channel: api.ChannelRapid, OverlapPolicy: api.OverlapAllow}}
	upgrades.DefaultProfile(p)
	require.Equal(t, api.AutoUpgradeProfileSpec{
		Channel: api.ChannelRapid, NodeImageSelection: &api.NodeImageSelection{Type: api.ImagesLatest},
		TriggerMode: api.TriggerReconcile, TriggerWhen: api.TriggerFirstRegion, OverlapPolicy: api.OverlapAllow,
	}, p.Spec)
	p = &api.AutoUpgradeProfile{Spec: api.AutoUpgradeProfileSpec{Channel: api.ChannelNodeImage}}
	upgrades.DefaultProfile(p)
	require.Nil(t, p.Spec.NodeImageSelection)
	require.Empty(t, upgrades.AutoUpgradeProfile(&api.AutoUpgradeProfile{ObjectMeta: p.ObjectMeta, Spec: p.Spec}, nil)[1:], "defaults break no rule but the name's")
}

func TestSchedulesGetTheDayTheyWereMade(t *testing.T) {
	now := time.Date(2026, 11, 20, 23, 30, 0, 0, time.UTC)
	east := time.FixedZone("east", 9*3600)
	zones := func(string) (*time.Location, error) { return east, nil }
	m := &api.MemberMaintenance{Spec: api.MaintenanceConfiguration{
		AutoUpgrade: &api.MaintenanceWindow{UTCOffset: "+01:00"}, NodeOSUpgrade: &api.MaintenanceWindow{TimeZone: "Asia/Tokyo"},
		Default: &api.MaintenanceWindow{StartDate: "2026-01-01"},
	}}
	upgrades.DefaultMaintenance(m, nil, now, zones)
	require.Equal(t, []string{"2026-11-21", "2026-11-21", "2026-01-01"}, []string{
		m.Spec.AutoUpgrade.StartDate, m.Spec.NodeOSUpgrade.StartDate, m.Spec.Default.StartDate,
	})
	later := &api.MemberMaintenance{Spec: api.MaintenanceConfiguration{AutoUpgrade: &api.MaintenanceWindow{}, Default: &api.MaintenanceWindow{UTCOffset: "-05:00"}}}
	upgrades.DefaultMaintenance(later, m, now.AddDate(0, 1, 0), zones)
	require.Equal(t, "2026-11-21", later.Spec.AutoUpgrade.StartDate, "an edit keeps the day that intervals count from")
	require.Equal(t, "2026-01-01", later.Spec.Default.StartDate)
	fresh := &api.MemberMaintenance{Spec: api.MaintenanceConfiguration{AutoUpgrade: &api.MaintenanceWindow{UTCOffset: "-05:00"}}}
	upgrades.DefaultMaintenance(fresh, nil, now, zones)
	require.Equal(t, "2026-11-20", fresh.Spec.AutoUpgrade.StartDate)
}
