package run

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/validate"
	"flotilla/hub/flotilla/cli/offline"
	"flotilla/hub/flotilla/cli/resource"
	"flotilla/hub/flotilla/cli/session"
)

// maintained is a member with its own schedules and those of its provider.
type maintained struct {
	name            string
	fleet, provider api.MaintenanceConfiguration
}

// namedSchedule is one schedule with the field it stands in.
type namedSchedule struct {
	kind   string // upgrades or images
	field  string
	window *api.MaintenanceWindow
}

// schedules are those that count: of the fleet, else of the provider.
func (m *maintained) schedules() []namedSchedule {
	var found []namedSchedule
	for _, s := range []namedSchedule{
		{"upgrades", "aksManagedAutoUpgradeSchedule", cmp.Or(m.fleet.AutoUpgrade, m.provider.AutoUpgrade)},
		{"images", "aksManagedNodeOSUpgradeSchedule", cmp.Or(m.fleet.NodeOSUpgrade, m.provider.NodeOSUpgrade)},
	} {
		if s.window != nil {
			found = append(found, s)
		}
	}
	return found
}

// maintained reads the schedules of all members, of the hub or, when there are any, of files.
func (a commands) maintained(ctx context.Context, o *windowsOptions) ([]maintained, error) {
	found := map[string]*maintained{}
	var err error
	if o.Empty() {
		err = a.maintainedLive(ctx, found)
	} else {
		err = a.maintainedInFiles(&o.Source, found)
	}
	if err != nil {
		return nil, err
	}
	members := make([]maintained, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		members = append(members, *found[name])
	}
	return members, nil
}

func memberIn(found map[string]*maintained, name string) *maintained {
	if found[name] == nil {
		found[name] = &maintained{name: name}
	}
	return found[name]
}

// inProvider takes the schedules that a provider has of a member.
func inProvider(known *maintained, m *api.MemberCluster) {
	if m.Status != nil && m.Status.Inventory != nil && m.Status.Inventory.Maintenance != nil {
		known.provider = *m.Status.Inventory.Maintenance
	}
}

func (a commands) maintainedLive(ctx context.Context, found map[string]*maintained) error {
	members, err := a.FetchAll(ctx, resource.Known(api.KindMemberCluster), resource.Selection{Brief: true})
	if err != nil {
		return err
	}
	for _, obj := range members {
		inProvider(memberIn(found, obj.GetName()), resource.Into[api.MemberCluster](obj))
	}
	objects, err := a.FetchAll(ctx, resource.Known(api.KindMemberMaintenance), resource.Selection{})
	if err != nil {
		return err
	}
	for _, obj := range objects {
		memberIn(found, obj.GetName()).fleet = resource.Into[api.MemberMaintenance](obj).Spec
	}
	return nil
}

func (a commands) maintainedInFiles(s *offline.Source, found map[string]*maintained) error {
	documents, err := s.Read(a.Client)
	if err != nil {
		return err
	}
	var faults strict.Faults
	for _, d := range documents {
		switch d.Ref.Kind {
		case api.KindMemberMaintenance:
			decoded, wrong := validate.Decode(d.Body)
			maintenance := validate.As[api.MemberMaintenance](&decoded)
			if maintenance == nil || len(wrong) > 0 {
				faults = append(faults, d.Placed(wrong)...)
				continue
			}
			memberIn(found, d.Ref.Name).fleet = maintenance.Spec
		case api.KindMemberCluster:
			m := &api.MemberCluster{}
			if err := json.Unmarshal(d.Body, m); err != nil {
				faults = append(faults, d.Placed(strict.Faults{{Object: d.Ref.String(), Kind: strict.FaultType, Found: err.Error(), Expected: "a MemberCluster"}})...)
				continue
			}
			inProvider(memberIn(found, d.Ref.Name), m)
		}
	}
	if len(faults) > 0 {
		return offline.DescribeFaults(faults, documents, s, false)
	}
	if len(found) == 0 {
		return session.Refusedf("the files hold no MemberMaintenance and no MemberCluster: found %d %s of other kinds", len(documents), session.Plural(len(documents), "document", "documents"))
	}
	return nil
}

// zoneText names the clock of a schedule.
func zoneText(w *api.MaintenanceWindow) string { return cmp.Or(w.TimeZone, w.UTCOffset, "+00:00") }

// zoneOf is the clock of a schedule that was parsed before.
func zoneOf(w *api.MaintenanceWindow) *time.Location {
	if w.TimeZone != "" {
		if zone, err := time.LoadLocation(w.TimeZone); err == nil {
			return zone
		}
	}
	if at, err := time.Parse("-07:00", w.UTCOffset); err == nil {
		_, offset := at.Zone()
		return time.FixedZone(w.UTCOffset, offset)
	}
	return time.UTC
}

// ruleText says in words when a schedule opens, "every Saturday at 02:00 for 4h".
func ruleText(w *api.MaintenanceWindow) string {
	s := &w.Schedule
	var rule string
	switch {
	case s.Daily != nil:
		rule = every(s.Daily.IntervalDays, "day", "days")
	case s.Weekly != nil && s.Weekly.IntervalWeeks > 1:
		rule = fmt.Sprintf("%s on %s", every(s.Weekly.IntervalWeeks, "week", "weeks"), s.Weekly.DayOfWeek)
	case s.Weekly != nil:
		rule = "every " + s.Weekly.DayOfWeek
	case s.AbsoluteMonthly != nil:
		rule = fmt.Sprintf("%s on day %d", every(s.AbsoluteMonthly.IntervalMonths, "month", "months"), s.AbsoluteMonthly.DayOfMonth)
	case s.RelativeMonthly != nil:
		rule = fmt.Sprintf("%s on the %s %s", every(s.RelativeMonthly.IntervalMonths, "month", "months"),
			strings.ToLower(s.RelativeMonthly.WeekIndex), s.RelativeMonthly.DayOfWeek)
	}
	rule += fmt.Sprintf(" at %s for %dh", w.StartTime, w.DurationHours)
	if w.StartDate != "" {
		rule += ", from " + w.StartDate
	}
	for i, blocked := range w.NotAllowedDates {
		if i == 0 {
			rule += ", not on "
		} else {
			rule += " and "
		}
		rule += blocked.Start
		if blocked.End != blocked.Start {
			rule += " to " + blocked.End
		}
	}
	return rule
}

func every(n int, one, many string) string {
	if n == 1 {
		return "every " + one
	}
	return fmt.Sprintf("every %d %s", n, many)
}

// completeMembers completes names of members, as many as are wanted.
func (a commands) completeMembers(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	names := slices.DeleteFunc(a.NamesOf(cmd.Context(), api.KindMemberCluster), func(name string) bool { return slices.Contains(args, name) })
	return resource.Beginning(names, word), cobra.ShellCompDirectiveNoFileComp
}
