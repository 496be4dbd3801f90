package picture

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/overview"
	"flotilla/core/window"
)

// What schedules are for, as `flotilla windows` calls it.
const (
	ForUpgrades = "upgrades"
	ForImages   = "images"
	ForContent  = "content"
)

// WindowKinds lists what schedules are for.
func WindowKinds() []string { return []string{ForUpgrades, ForImages, ForContent} }

// Maintained is when members may be upgraded.
type Maintained struct {
	At metav1.Time `json:"at"`
	// Schedules has each schedule once, however many members have it.
	Schedules []api.MaintenanceWindow `json:"schedules"`
	// Members are sorted by name.
	Members []MaintainedMember `json:"members"`

	numbers map[string]int // of schedules, by their JSON
}

// MaintainedMember is a member with the numbers of its schedules, counted from 1; 0 is none, and it may be upgraded at any time.
type MaintainedMember struct {
	Name     string `json:"name"`
	Upgrades int    `json:"upgrades,omitempty"`
	Images   int    `json:"images,omitempty"`
	Content  int    `json:"content,omitempty"`
}

// Add adds a member by the schedules that the fleet has for it, else its provider; either may be nil.
func (m *Maintained) Add(name string, fleet, provider *api.MaintenanceConfiguration) error {
	own, other := cmp.Or(fleet, &api.MaintenanceConfiguration{}), cmp.Or(provider, &api.MaintenanceConfiguration{})
	member := MaintainedMember{Name: name}
	for _, one := range []struct {
		number *int
		window *api.MaintenanceWindow
	}{
		{&member.Upgrades, cmp.Or(own.AutoUpgrade, other.AutoUpgrade)},
		{&member.Images, cmp.Or(own.NodeOSUpgrade, other.NodeOSUpgrade)},
		{&member.Content, cmp.Or(own.Default, other.Default)},
	} {
		var err error
		if *one.number, err = m.number(one.window); err != nil {
			return fmt.Errorf("encoding the maintenance schedules of %s: %w", name, err)
		}
	}
	m.Members = append(m.Members, member)
	return nil
}

func (m *Maintained) number(w *api.MaintenanceWindow) (int, error) {
	if w == nil {
		return 0, nil
	}
	text, err := json.Marshal(w)
	if err != nil {
		return 0, err
	}
	number, known := m.numbers[string(text)]
	if !known {
		if m.numbers == nil {
			m.numbers = map[string]int{}
		}
		m.Schedules = append(m.Schedules, *w)
		number = len(m.Schedules)
		m.numbers[string(text)] = number
	}
	return number, nil
}

// Calendar is Maintained with its schedules parsed. It never changes and may be shared.
type Calendar struct {
	*Maintained
	named  map[string]*MaintainedMember
	parsed []*window.Schedule
	clocks []*time.Location
	// Faults say which schedules cannot be followed; members that have one are never open.
	Faults []string
}

// NewCalendar parses schedules. Zones finds IANA zones.
func NewCalendar(m *Maintained, zones window.Zones) *Calendar {
	c := &Calendar{Maintained: m, named: make(map[string]*MaintainedMember, len(m.Members))}
	for i := range m.Members {
		c.named[m.Members[i].Name] = &m.Members[i]
	}
	for i := range m.Schedules {
		s, err := window.Parse("schedule", &m.Schedules[i], zones)
		if err != nil {
			s = window.Never()
			c.Faults = append(c.Faults, err.Error())
		}
		c.parsed, c.clocks = append(c.parsed, s), append(c.clocks, clockOf(&m.Schedules[i], zones))
	}
	return c
}

// clockOf is the clock of a schedule, UTC where it is not known.
func clockOf(w *api.MaintenanceWindow, zones window.Zones) *time.Location {
	if zone, err := zones(w.TimeZone); w.TimeZone != "" && err == nil {
		return zone
	}
	if at, err := time.Parse("-07:00", w.UTCOffset); err == nil {
		_, offset := at.Zone()
		return time.FixedZone(w.UTCOffset, offset)
	}
	return time.UTC
}

// Windows are those of members for upgrades, images or content between two times, by name.
func (c *Calendar) Windows(names []string, kind string, from, to time.Time) []MemberWindows {
	known := make([]*MemberWindows, len(c.parsed)+1)
	windows := make([]MemberWindows, len(names))
	for i, name := range names {
		n := c.number(name, kind)
		if known[n] == nil {
			s := c.schedule(n)
			known[n] = &MemberWindows{Always: s == nil, Open: s.Between(from, to)}
		}
		windows[i] = *known[n]
		windows[i].Member = name
	}
	return windows
}

// schedule is the one of a number, nil for none.
func (c *Calendar) schedule(number int) *window.Schedule {
	if number == 0 {
		return nil
	}
	return c.parsed[number-1]
}

// Openings is how the members of a group may be upgraded.
type Openings struct {
	// Now counts those that may be now. Next is when the first window opens of those that may not, zero for never; Never counts
	// those of which none opens within 400 days.
	Now   int         `json:"now"`
	Next  metav1.Time `json:"next,omitzero"`
	Never int         `json:"never,omitempty"`
}

// Strip is for how many members a window is open over so many days from the hour of a time on, and how the members of each group
// may be upgraded at that time, by groups as overview.Groups has them.
func (c *Calendar) Strip(members []*overview.Member, by, kind string, now time.Time, days int) Strip {
	names := make([]string, len(members))
	for i := range members {
		names[i] = members[i].Name
	}
	from := now.UTC().Truncate(time.Hour)
	strip := stripOf(c.Windows(names, kind, from, from.AddDate(0, 0, days)), members, by, from, days)
	opens := c.openings(members, by, kind, now)
	for i := range strip.Groups {
		if g := &strip.Groups[i]; g.Rest == 0 {
			g.Openings = *opens[g.Name]
		}
	}
	return strip
}

// openings are those of members by what overview.Groups groups by.
func (c *Calendar) openings(members []*overview.Member, by, kind string, now time.Time) map[string]*Openings {
	opens := make([]*window.Opening, len(c.parsed)+1)
	found := map[string]*Openings{}
	for _, m := range members {
		name := m.In(cmp.Or(by, "region"))
		if found[name] == nil {
			found[name] = &Openings{}
		}
		n := c.number(m.Name, kind)
		if opens[n] == nil {
			next := c.schedule(n).Next(now)
			opens[n] = &next
		}
		found[name].add(opens[n])
	}
	return found
}

func (g *Openings) add(o *window.Opening) {
	switch {
	case o.Class.MayStart():
		g.Now++
	case o.Opens.IsZero():
		g.Never++
	case g.Next.IsZero() || o.Opens.Before(g.Next.Time):
		g.Next = metav1.NewTime(o.Opens)
	}
}

// number is that of the schedule of a member, 0 for none.
func (c *Calendar) number(member, kind string) int {
	m := c.named[member]
	if m == nil {
		return 0
	}
	switch kind {
	case ForUpgrades:
		return m.Upgrades
	case ForImages:
		return m.Images
	}
	return m.Content
}

// WindowRow is what `flotilla windows` says of one schedule of a member.
type WindowRow struct {
	Member string `json:"member"`
	// For is what the schedule is for, "all" of a member that has none.
	For  string `json:"for"`
	Rule string `json:"rule,omitempty"`
	Zone string `json:"zone,omitempty"`
	// Open says that it may be upgraded now. Opens and Closes are of the window that is open or comes next; zero when there is
	// none, or when it does not close.
	Open   bool        `json:"open"`
	Opens  metav1.Time `json:"opens,omitzero"`
	Closes metav1.Time `json:"closes,omitzero"`
	// Local is when it opens on the clock of the schedule, "Sat 02:00 CET".
	Local string `json:"local,omitempty"`

	number int
}

// Rows are the schedules of members, in their order; what each says is for Tell to fill in.
func (c *Calendar) Rows(members []*overview.Member) []WindowRow {
	rows := make([]WindowRow, 0, len(members))
	for _, m := range members {
		before := len(rows)
		for _, kind := range WindowKinds() {
			if n := c.number(m.Name, kind); n > 0 {
				rows = append(rows, WindowRow{Member: m.Name, For: kind, number: n})
			}
		}
		if len(rows) == before {
			rows = append(rows, WindowRow{Member: m.Name, For: "all", Open: true})
		}
	}
	return rows
}

// Tell fills in what rows say at a time.
func (c *Calendar) Tell(rows []WindowRow, now time.Time) {
	for i := range rows {
		if rows[i].number > 0 {
			c.tell(&rows[i], now)
		}
	}
}

func (c *Calendar) tell(row *WindowRow, now time.Time) {
	at := row.number - 1
	w, o := &c.Schedules[at], c.parsed[at].At(now)
	row.Rule, row.Zone, row.Open = window.Rule(w), window.ZoneName(w), o.Class.MayStart()
	if !o.Opens.IsZero() {
		row.Opens, row.Local = metav1.NewTime(o.Opens), o.Opens.In(c.clocks[at]).Format("Mon 15:04 MST")
	}
	if !o.Closes.IsZero() {
		row.Closes = metav1.NewTime(o.Closes)
	}
}

// Table holds what rows say at a time, which it leaves as they are, and as JSON a strip too.
func (c *Calendar) Table(strip *Strip, rows []WindowRow, now time.Time) *overview.Table {
	told := slices.Clone(rows)
	c.Tell(told, now)
	return overview.TableOf("windows", map[string]any{"strip": strip, "members": told}, told, func(r *WindowRow) []string {
		return []string{r.Member, r.For, strconv.FormatBool(r.Open), overview.Written(r.Opens), overview.Written(r.Closes), r.Local, r.Zone, r.Rule}
	}, "member", "for", "open", "opens", "closes", "local", "zone", "rule")
}
