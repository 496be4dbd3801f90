package upgrade

import (
	"fmt"
	"time"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/core/window"
)

// StrategyWarnings lists the groups of a strategy that no member bears now, and the members whose windows are
// never open for as long as its policy asks for. They are no fault until a run is made of it.
func StrategyWarnings(s *api.UpdateStrategy, fleet *Fleet, now time.Time) []string {
	picked, err := selectMembers(&s.Spec.RunStrategy, fleet)
	if err != nil {
		return nil // an unreadable selector is a fault that CheckUpdateStrategy names
	}
	warnings := make([]string, len(picked.missing))
	for i, group := range picked.missing {
		warnings[i] = "no member bears group " + afterSlash(group) + " yet"
	}
	if s.Spec.Policy == nil {
		return warnings
	}
	least := api.Span(s.Spec.Policy.MinRemaining)
	for _, kind := range []string{api.UpgradeFull, api.UpgradeNodeImageOnly} {
		if text := tooShort(picked.all(), kind, least, now); text != "" {
			warnings = append(warnings, "spec.policy.minRemaining: "+text)
		}
	}
	return warnings
}

// shut names the members whose window for a type of upgrade does not open within 400 days.
func shut(members []*Member, upgradeType string, now time.Time) []string {
	var names []string
	for _, m := range members {
		if o := m.window(upgradeType).Next(now); o.Class == window.Closed && o.Opens.IsZero() {
			names = append(names, m.Name)
		}
	}
	return names
}

// tooShort says which members have windows for a type of upgrade, and none that is open for least, so that
// they wait for ever; empty when there are none. Members whose windows do not open at all are told of elsewhere.
func tooShort(members []*Member, upgradeType string, least time.Duration, now time.Time) string {
	if least <= 0 {
		return ""
	}
	var names []string
	for _, m := range members {
		s := m.window(upgradeType)
		if s.Next(now).Opens.IsZero() || s.Lasts(least, now) {
			continue
		}
		names = append(names, m.Name)
	}
	if len(names) == 0 {
		return ""
	}
	what := "upgrades"
	if upgradeType == api.UpgradeNodeImageOnly {
		what = "images"
	}
	return fmt.Sprintf("no maintenance window for %s is open for %s within 400 days, so that these members keep waiting: %s", what, least, phrase.Enumerate(names))
}

// MaintenanceWarnings name the schedules of a member that do not open within 400 days. Zones finds IANA zones;
// schedules that cannot be read are left to CheckMemberMaintenance.
func MaintenanceWarnings(m *api.MemberMaintenance, zones window.Zones, now time.Time) []string {
	var warnings []string
	for _, s := range []struct {
		field  string
		window *api.MaintenanceWindow
	}{{"aksManagedAutoUpgradeSchedule", m.Spec.AutoUpgrade}, {"aksManagedNodeOSUpgradeSchedule", m.Spec.NodeOSUpgrade}, {"default", m.Spec.Default}} {
		if s.window == nil {
			continue
		}
		parsed, err := window.Parse("spec."+s.field, s.window, zones)
		if err == nil && parsed.Next(now).Opens.IsZero() {
			warnings = append(warnings, "spec."+s.field+" does not open within 400 days: until it does no run starts the member")
		}
	}
	return warnings
}
