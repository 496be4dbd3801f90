package upgrade

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"flotilla/core/api"
	"flotilla/core/version"
	"flotilla/core/window"
)

// MemberFacts is what the hub knows of a member that upgrades depend on: what the user wrote, what the
// registrar says of its heartbeat, and the agent's inventory.
type MemberFacts struct {
	Name string
	UID  string
	// Group is the member's update group, label flotilla.io/update-group.
	Group  string
	Labels map[string]string
	// Agent says which of Labels the agent decides.
	Agent api.AgentLabels
	// Eligible members may enter new runs; those that join, leave or failed to join may not.
	Eligible bool
	// Leaving members are on their way out of the fleet; runs that hold them pass them by.
	Leaving bool
	// Reachable is false while nobody hears of the member; LastSeen is its last heartbeat.
	Reachable bool
	LastSeen  time.Time
	Inventory api.MemberInventory
	// Maintenance of the fleet wins over that of the inventory, schedule by schedule.
	Maintenance *api.MaintenanceConfiguration
}

// Member is a member with its versions, images and windows parsed. It never changes.
type Member struct {
	MemberFacts
	// ID tells members apart that had the same name at different times.
	ID           string
	ControlPlane version.Version // zero when it is not known
	Pools        []Pool
	// Upgrades, Images and Contents are the windows of Kubernetes upgrades, of image upgrades and of content.
	Upgrades, Images, Contents *window.Schedule
}

// Pool is a node pool, parsed.
type Pool struct {
	api.NodePoolFacts
	Kubernetes version.Version // zero when it is not known
	Image      version.Image   // zero when it cannot be read
	// Family is that of the image, known also when the image's version cannot be read.
	Family string
}

// Fleet holds the members a run may touch, each parsed once. It is not safe for concurrent changes.
type Fleet struct {
	members map[string]*Member
	zones   window.Zones
}

// NewFleet returns an empty fleet. Zones finds IANA zones for maintenance schedules; programs pass
// time.LoadLocation.
func NewFleet(zones window.Zones) *Fleet {
	return &Fleet{members: map[string]*Member{}, zones: zones}
}

// Set adds or replaces a member. An error names a schedule that cannot be followed; the member is
// then in the fleet with that schedule closed, never open.
func (f *Fleet) Set(facts MemberFacts) error {
	m := &Member{MemberFacts: facts, ID: facts.Inventory.ClusterResourceID}
	if m.ID == "" {
		m.ID = facts.UID
	}
	m.ControlPlane, _ = version.Parse(facts.Inventory.ControlPlaneVersion)
	m.Pools = parsePools(facts.Inventory.NodePools)
	f.members[facts.Name] = m
	return m.parseWindows(f.zones)
}

// Observe replaces what an agent says of a member and keeps the rest, parsed schedules included when
// the inventory brings the same. A member that is not in the fleet is left out.
func (f *Fleet) Observe(name string, inventory api.MemberInventory) error {
	old, ok := f.members[name]
	if !ok {
		return nil
	}
	facts := old.MemberFacts
	same := reflect.DeepEqual(inventory.Maintenance, facts.Inventory.Maintenance)
	facts.Inventory = inventory
	if !same {
		return f.Set(facts)
	}
	m := *old
	m.MemberFacts = facts
	m.ControlPlane, _ = version.Parse(inventory.ControlPlaneVersion)
	m.Pools = parsePools(inventory.NodePools)
	f.members[name] = &m
	return nil
}

// Remove takes a member out.
func (f *Fleet) Remove(name string) { delete(f.members, name) }

// Member returns a member by name.
func (f *Fleet) Member(name string) (*Member, bool) {
	m, ok := f.members[name]
	return m, ok
}

// Names returns all names, sorted.
func (f *Fleet) Names() []string { return slices.Sorted(maps.Keys(f.members)) }

// Clone returns a fleet that can change without the first one noticing.
func (f *Fleet) Clone() *Fleet {
	return &Fleet{members: maps.Clone(f.members), zones: f.zones}
}

// is reports whether a frozen id is that of the member. One that was frozen before its agent reported
// is known by the uid it has in the hub.
func (m *Member) is(id string) bool { return id == m.ID || id == m.UID }

// window returns the schedule that a type of upgrade consults.
func (m *Member) window(upgradeType string) *window.Schedule {
	if upgradeType == api.UpgradeNodeImageOnly {
		return m.Images
	}
	return m.Upgrades
}

func (m *Member) parseWindows(zones window.Zones) error {
	var own, provider api.MaintenanceConfiguration
	if m.Maintenance != nil {
		own = *m.Maintenance
	}
	if m.Inventory.Maintenance != nil {
		provider = *m.Inventory.Maintenance
	}
	var errs [3]error
	m.Upgrades, errs[0] = parseWindow("aksManagedAutoUpgradeSchedule", own.AutoUpgrade, provider.AutoUpgrade, zones)
	m.Images, errs[1] = parseWindow("aksManagedNodeOSUpgradeSchedule", own.NodeOSUpgrade, provider.NodeOSUpgrade, zones)
	m.Contents, errs[2] = parseWindow("default", own.Default, provider.Default, zones)
	if failed := cmp.Or(errs[:]...); failed != nil {
		return fmt.Errorf("reading the maintenance schedules of %s: %w", m.Name, failed)
	}
	return nil
}

func parseWindow(name string, own, provider *api.MaintenanceWindow, zones window.Zones) (*window.Schedule, error) {
	w := own
	if w == nil {
		w = provider
	}
	if w == nil {
		return nil, nil
	}
	s, err := window.Parse(name, w, zones)
	if err != nil {
		return window.Never(), err
	}
	return s, nil
}

func parsePools(facts []api.NodePoolFacts) []Pool {
	pools := make([]Pool, len(facts))
	for i := range facts {
		p := Pool{NodePoolFacts: facts[i], Family: facts[i].ImageFamily}
		p.Kubernetes, _ = version.Parse(facts[i].KubernetesVersion)
		if image, ok := version.ParseImage(facts[i].NodeImageVersion); ok {
			p.Image, p.Family = image, image.Family
		}
		pools[i] = p
	}
	return pools
}
