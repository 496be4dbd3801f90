package examples_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"flotilla/core/api"
	"flotilla/core/upgrade"
	"flotilla/core/validate"
	"flotilla/core/version"
)

// upgrades is what the files under upgrades/ hold.
type upgrades struct {
	catalog     *api.VersionCatalog
	strategies  map[string]*api.UpdateStrategy
	run         *api.UpdateRun
	profile     *api.AutoUpgradeProfile
	maintenance map[string]*api.MemberMaintenance
}

func readUpgrades(t *testing.T) upgrades {
	t.Helper()
	out := upgrades{strategies: map[string]*api.UpdateStrategy{}, maintenance: map[string]*api.MemberMaintenance{}}
	for _, name := range names(t, "upgrades/*.yaml") {
		for _, d := range documents(t, name) {
			decoded, faults := validate.Decode(d.JSON)
			require.NoError(t, faults.Err(), d.Where())
			require.Empty(t, decoded.Notes, d.Where())
			switch value := decoded.Value.(type) {
			case *api.VersionCatalog:
				out.catalog = value
			case *api.UpdateStrategy:
				out.strategies[value.Name] = value
			case *api.UpdateRun:
				out.run = value
			case *api.AutoUpgradeProfile:
				out.profile = value
			case *api.MemberMaintenance:
				out.maintenance[value.Name] = value
			default:
				require.Fail(t, "not about upgrades", d.Where())
			}
		}
	}
	return out
}

// view is the example fleet with its inventories as exported, and windows only where they are given.
func (u *upgrades) view(t *testing.T, windows bool) upgrade.View {
	t.Helper()
	fleet := upgrade.NewFleet(time.LoadLocation)
	for name, m := range members(t) {
		facts := upgrade.MemberFacts{
			Name: name, UID: string(m.exported.UID), Labels: m.exported.Labels, Eligible: true, Reachable: true, Inventory: *m.exported.Status.Inventory,
		}
		if windows {
			facts.Maintenance = &u.maintenance[name].Spec
		}
		require.NoError(t, fleet.Set(facts))
	}
	catalog, err := version.NewCatalog(&u.catalog.Spec)
	require.NoError(t, err)
	return upgrade.View{Fleet: fleet, Catalog: catalog}
}

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func (u *upgrades) plan(t *testing.T, run *api.UpdateRun, windows bool) upgrade.RunPlan {
	t.Helper()
	soon := time.Hour
	report := upgrade.Plan([]upgrade.PlannedRun{{Run: run, Strategy: u.strategies[run.Spec.StrategyName]}}, u.view(t, windows), noon,
		upgrade.Assumptions{ApproveAfter: &soon})
	require.Len(t, report.Runs, 1)
	require.Nil(t, report.Runs[0].Refusal)
	require.Empty(t, report.Runs[0].Warnings)
	return report.Runs[0]
}

func TestInventoriesAreThoseOfTheAgents(t *testing.T) {
	for name, m := range members(t) {
		inventory, node := m.exported.Status.Inventory, m.agent.Target.Memory.Nodes[0]
		require.NotNil(t, inventory, name)
		require.Equal(t, m.agent.Location, inventory.Region, name)
		require.Equal(t, strings.TrimPrefix(m.agent.Target.Memory.KubernetesVersion, "v"), inventory.ControlPlaneVersion, name)
		require.Len(t, inventory.NodePools, 1, name)
		require.Equal(t, node.Pool.Name, inventory.NodePools[0].Name, name)
		require.Equal(t, node.Pool.Image, inventory.NodePools[0].NodeImageVersion, name)
		require.Equal(t, node.Pool.OSSKU, inventory.NodePools[0].OSSKU, name)
	}
}

func TestTheExampleRunUpgradesEveryMember(t *testing.T) {
	u := readUpgrades(t)
	plan := u.plan(t, u.run, false)
	require.Equal(t, "Completed", plan.State)
	require.Len(t, plan.Members, 8)
	stages := map[string]int{}
	for _, m := range plan.Members {
		require.Equal(t, api.StateCompleted, m.State, m.Name)
		require.Equal(t, "1.36.4", m.To, m.Name)
		stages[m.Stage+"/"+m.Group]++
	}
	require.Equal(t, map[string]int{"test/test": 3, "production/east": 2, "production/north-and-south": 3}, stages)
}

// With windows every member starts inside its own, on the day that its label names.
func TestEveryMemberIsUpgradedOnItsDay(t *testing.T) {
	u := readUpgrades(t)
	all := members(t)
	plan := u.plan(t, u.run, true)
	require.Equal(t, "Completed", plan.State)
	for _, m := range plan.Members {
		day := all[m.Name].spec.Labels["updateDay"]
		window := u.maintenance[m.Name].Spec.AutoUpgrade
		zone, err := time.LoadLocation(window.TimeZone)
		require.NoError(t, err)
		require.Equal(t, day, strings.ToLower(window.Schedule.Weekly.DayOfWeek), m.Name)
		opens, err := time.Parse("15:04", window.StartTime)
		require.NoError(t, err)
		opened := m.Start.In(zone).Add(-time.Duration(opens.Hour()) * time.Hour)
		require.Equal(t, day, strings.ToLower(opened.Weekday().String()), "%s starts at %s", m.Name, m.Start.In(zone))
		require.Less(t, opened.Hour(), window.DurationHours, m.Name)
	}
	require.Len(t, u.maintenance, len(all))
}

func TestTheWeekendBeginsOnSaturday(t *testing.T) {
	u := readUpgrades(t)
	run := *u.run
	run.Spec.StrategyName = "weekend"
	plan := u.plan(t, &run, false)
	require.Equal(t, "Completed", plan.State)
	require.Equal(t, time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC), plan.Members[0].Start.UTC())
}

func TestTheProfileMakesARun(t *testing.T) {
	u := readUpgrades(t)
	decision := upgrade.Reconcile(upgrade.ProfileInput{
		Profile: u.profile, Strategy: u.strategies[u.profile.Spec.StrategyName], View: u.view(t, false), Now: noon,
	})
	require.NotNil(t, decision.Create)
	require.Equal(t, "1.36.4", decision.Create.Run.Spec.Upgrade.KubernetesVersion)
	require.Equal(t, decision.Create.Run.Name, decision.Start)
}

// 1.37.0 has not reached the region of one member, which therefore waits.
func TestAVersionThatIsNotEverywhere(t *testing.T) {
	u := readUpgrades(t)
	run := *u.run
	run.Spec.Upgrade.KubernetesVersion = "1.37.0"
	for _, m := range u.plan(t, &run, false).Members {
		if m.Name == "oslo" {
			require.Equal(t, api.ReasonKubernetesNotHere, m.Reason)
			require.Contains(t, m.Message, u.catalog.Spec.TrackerURL)
			continue
		}
		require.Equal(t, api.StateCompleted, m.State, m.Name)
	}
}
