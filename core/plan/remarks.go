package plan

import (
	"maps"
	"slices"
	"time"

	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/schedule"
	"flotilla/core/upgrade"
	"flotilla/core/window"
)

// Remarks are what an apply of the files would note of their documents at a moment, as far as files tell: what placements
// ask for that no member among the files can give, selectors that take nothing of the content among them, groups
// that nobody bears, and maintenance windows that do not open, or not for long enough. Each begins with its object. Zones
// finds IANA zones. The error names a schedule or a catalog that cannot be followed.
func (c *Collected) Remarks(zones window.Zones, now time.Time) ([]string, error) {
	var remarks []string
	add := func(object string, texts []string) {
		for _, text := range texts {
			remarks = append(remarks, object+": "+text)
		}
	}
	for i := range c.Subjects {
		p := &c.Subjects[i].Placement
		object := p.Kind + "/" + p.Key()
		if c.index.Len() > 0 && len(c.Subjects[i].Existing) == 0 {
			add(object, content.Unmatched(p.Spec.ResourceSelectors, p.Namespace, c.index, api.AmongTheFiles))
		}
		if len(c.Members) > 0 {
			add(object, schedule.Hopes(p, c.Members))
		}
	}
	u := &c.Upgrades
	if len(u.strategies) > 0 {
		view, err := u.View(zones, now, 0)
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(u.strategies)) {
			add(api.KindUpdateStrategy+"/"+name, upgrade.StrategyWarnings(u.strategies[name], view.Fleet, now))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(u.maintenance)) {
		add(api.KindMemberMaintenance+"/"+name, upgrade.MaintenanceWarnings(u.maintenance[name], zones, now))
	}
	return remarks, nil
}
