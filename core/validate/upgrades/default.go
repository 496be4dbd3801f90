package upgrades

import (
	"time"

	"flotilla/core/api"
)

// DefaultRun fills in what a run leaves out. Its policy stays as it is: what it leaves out is its
// strategy's to say.
func DefaultRun(r *api.UpdateRun) {
	if r.Spec.Upgrade.Type != api.UpgradeControlPlaneOnly {
		defaultImages(&r.Spec.Upgrade.NodeImageSelection)
	}
}

// DefaultProfile fills in what a profile leaves out.
func DefaultProfile(p *api.AutoUpgradeProfile) {
	s := &p.Spec
	defaultTo(&s.TriggerMode, api.TriggerReconcile)
	defaultTo(&s.TriggerWhen, api.TriggerFirstRegion)
	defaultTo(&s.OverlapPolicy, api.OverlapQueue)
	if s.Channel != api.ChannelNodeImage && s.Channel != api.ChannelSecurityPatch {
		defaultImages(&s.NodeImageSelection)
	}
}

func defaultImages(selection **api.NodeImageSelection) {
	if *selection == nil {
		*selection = &api.NodeImageSelection{}
	}
	defaultTo(&(*selection).Type, api.ImagesLatest)
}

// DefaultMaintenance gives every schedule of m that has no start date one, because intervals count
// from it: the date that stored, nil for a new object, has for it, else the day it is at now on the
// schedule's own clock. Zones finds IANA zones, as time.LoadLocation does.
func DefaultMaintenance(m, stored *api.MemberMaintenance, now time.Time, zones func(string) (*time.Location, error)) {
	before := &api.MaintenanceConfiguration{}
	if stored != nil {
		before = &stored.Spec
	}
	for _, schedule := range []struct{ window, stored *api.MaintenanceWindow }{
		{m.Spec.AutoUpgrade, before.AutoUpgrade},
		{m.Spec.NodeOSUpgrade, before.NodeOSUpgrade},
		{m.Spec.Default, before.Default},
	} {
		w := schedule.window
		if w == nil || w.StartDate != "" {
			continue
		}
		if schedule.stored != nil {
			w.StartDate = schedule.stored.StartDate
		}
		defaultTo(&w.StartDate, now.In(locationOf(w, zones)).Format(api.DateLayout))
	}
}

// location is the clock of a schedule, UTC when it names none that can be read.
func locationOf(w *api.MaintenanceWindow, zones func(string) (*time.Location, error)) *time.Location {
	if w.TimeZone != "" {
		if zone, err := zones(w.TimeZone); err == nil {
			return zone
		}
		return time.UTC
	}
	if at, err := time.Parse("-07:00", w.UTCOffset); err == nil {
		return at.Location()
	}
	return time.UTC
}

func defaultTo(field *string, value string) {
	if *field == "" {
		*field = value
	}
}
