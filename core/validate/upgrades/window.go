package upgrades

import (
	"fmt"
	"time"

	"flotilla/core/api"
	"flotilla/core/strict"
)

// MemberMaintenance returns every fault of a member's schedules. KnownZone
// reports whether an IANA zone exists.
func MemberMaintenance(m *api.MemberMaintenance, knownZone func(string) bool) strict.Faults {
	u := &faults{object: api.KindMemberMaintenance + "/" + m.Name}
	u.maintenance(m, knownZone)
	return u.list()
}

func (u *faults) maintenance(m *api.MemberMaintenance, knownZone func(string) bool) {
	u.found.Label(m.Name, strict.At("metadata.name"))
	schedules := []struct {
		name   string
		window *api.MaintenanceWindow
	}{
		{"spec.aksManagedAutoUpgradeSchedule", m.Spec.AutoUpgrade},
		{"spec.aksManagedNodeOSUpgradeSchedule", m.Spec.NodeOSUpgrade},
		{"spec.default", m.Spec.Default},
	}
	for _, schedule := range schedules {
		if schedule.window != nil {
			u.window(schedule.name, schedule.window, knownZone)
		}
	}
}

// MaintenanceWindow returns every fault of one schedule; path says where it stands.
func MaintenanceWindow(path string, w *api.MaintenanceWindow, knownZone func(string) bool) strict.Faults {
	u := &faults{}
	u.window(path, w, knownZone)
	return u.list()
}

func (u *faults) window(path string, w *api.MaintenanceWindow, knownZone func(string) bool) {
	u.schedule(path+".schedule", &w.Schedule)
	if w.DurationHours < 4 || w.DurationHours > 24 {
		u.add(path+".durationHours", fmt.Sprint(w.DurationHours), "4 to 24 hours, always stated")
	}
	u.match(path+".startTime", w.StartTime, clockPattern, "HH:MM from 00:00 to 23:59")
	if w.StartDate != "" {
		u.date(path+".startDate", w.StartDate)
	}
	u.word(path+".weekAnchor", w.WeekAnchor, true, api.WeekAnchorFirstMatch, api.WeekAnchorCalendarWeek)
	if w.UTCOffset != "" {
		u.match(path+".utcOffset", w.UTCOffset, offsetPattern, "±HH:MM within 14 hours")
	}
	if w.TimeZone != "" && (w.TimeZone == "Local" || !knownZone(w.TimeZone)) {
		u.add(path+".timeZone", strict.Shown(w.TimeZone), "the IANA name of a zone, Europe/Paris")
	}
	if w.UTCOffset != "" && w.TimeZone != "" {
		u.add(path+".timeZone", strict.Shown(w.TimeZone)+" beside utcOffset "+strict.Shown(w.UTCOffset), "one of the two: timeZone follows the clock of a place, utcOffset never changes")
	}
	for i, span := range w.NotAllowedDates {
		u.dates(fmt.Sprintf("%s.notAllowedDates[%d]", path, i), span)
	}
}

func (u *faults) date(path, text string) (time.Time, bool) {
	day, err := time.Parse(api.DateLayout, text)
	if err != nil {
		u.add(path, strict.Shown(text), "a date, 2026-12-23")
	}
	return day, err == nil
}

func (u *faults) dates(path string, span api.DateSpan) {
	start, startOK := u.date(path+".start", span.Start)
	end, endOK := u.date(path+".end", span.End)
	if startOK && endOK && end.Before(start) {
		u.add(path+".end", strict.Shown(span.End), "a day not before start "+strict.Shown(span.Start))
	}
}

func (u *faults) schedule(path string, s *api.MaintenanceSchedule) {
	count := 0
	if s.Daily != nil {
		count++
		u.within(path+".daily.intervalDays", s.Daily.IntervalDays, 1, 7)
	}
	if s.Weekly != nil {
		count++
		u.within(path+".weekly.intervalWeeks", s.Weekly.IntervalWeeks, 1, 4)
		u.word(path+".weekly.dayOfWeek", s.Weekly.DayOfWeek, false, api.UpdateWeekdays...)
	}
	if s.AbsoluteMonthly != nil {
		count++
		u.within(path+".absoluteMonthly.intervalMonths", s.AbsoluteMonthly.IntervalMonths, 1, 6)
		u.within(path+".absoluteMonthly.dayOfMonth", s.AbsoluteMonthly.DayOfMonth, 1, 31)
	}
	if s.RelativeMonthly != nil {
		count++
		u.within(path+".relativeMonthly.intervalMonths", s.RelativeMonthly.IntervalMonths, 1, 6)
		u.word(path+".relativeMonthly.weekIndex", s.RelativeMonthly.WeekIndex, false, api.WeekIndexes...)
		u.word(path+".relativeMonthly.dayOfWeek", s.RelativeMonthly.DayOfWeek, false, api.UpdateWeekdays...)
	}
	if count != 1 {
		u.add(path, fmt.Sprintf("%d kinds of schedule", count), "exactly one of daily, weekly, absoluteMonthly and relativeMonthly")
	}
}

// VersionCatalog returns every fault of a catalog.
func VersionCatalog(c *api.VersionCatalog) strict.Faults {
	u := &faults{object: api.KindVersionCatalog + "/" + c.Name}
	u.catalog(c)
	return u.list()
}

func (u *faults) catalog(c *api.VersionCatalog) {
	u.name("metadata.name", c.Name)
	versions := map[string]string{}
	for i := range c.Spec.Kubernetes {
		release, at := &c.Spec.Kubernetes[i], fmt.Sprintf("spec.kubernetes[%d]", i)
		u.match(at+".version", release.Version, upgradeRelease, "a version x.y.z, 1.29.9")
		u.word(at+".state", release.State, false, api.ReleaseGA, api.ReleasePreview, api.ReleaseDeprecated, api.ReleaseLTS)
		u.once(at+".version", trimV(release.Version), versions)
	}
	images := map[string]string{}
	for i := range c.Spec.NodeImages {
		image, at := &c.Spec.NodeImages[i], fmt.Sprintf("spec.nodeImages[%d]", i)
		if image.Family == "" {
			u.add(at+".family", "nothing", "an image family, AKSUbuntu-2204gen2containerd")
		}
		u.match(at+".version", image.Version, imageVersionPattern, "two or three numbers with dots between, 202401.09.0")
		u.once(at+".version", image.Family+"-"+image.Version, images)
	}
}

func (u *faults) once(path, value string, seen map[string]string) {
	if first, ok := seen[value]; ok {
		u.add(path, strict.Shown(value), "each version once; "+first+" lists it already")
		return
	}
	seen[value] = path
}
