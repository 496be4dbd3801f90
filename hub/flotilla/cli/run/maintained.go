package run

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
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
	kind   string // upgrades, images or content
	field  string
	window *api.MaintenanceWindow
}

// schedules are those that count: of the fleet, else of the provider.
func (m *maintained) schedules() []namedSchedule {
	var found []namedSchedule
	for _, s := range []namedSchedule{
		{"upgrades", "aksManagedAutoUpgradeSchedule", cmp.Or(m.fleet.AutoUpgrade, m.provider.AutoUpgrade)},
		{"images", "aksManagedNodeOSUpgradeSchedule", cmp.Or(m.fleet.NodeOSUpgrade, m.provider.NodeOSUpgrade)},
		{"content", "default", cmp.Or(m.fleet.Default, m.provider.Default)},
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

// completeMembers completes names of members, as many as are wanted.
func (a commands) completeMembers(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	names := slices.DeleteFunc(a.NamesOf(cmd.Context(), api.KindMemberCluster), func(name string) bool { return slices.Contains(args, name) })
	return resource.Beginning(names, word), cobra.ShellCompDirectiveNoFileComp
}
