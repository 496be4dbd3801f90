package draft

import (
	"context"
	"time"

	"flotilla/core/advice"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/core/schedule"
	"flotilla/core/upgrade"
	"flotilla/core/validate"
	"flotilla/core/validate/upgrades"
	"flotilla/core/window"
)

// defaultMaintenance gives schedules their start dates, once it is known that their zones exist.
func (f *Draft) defaultMaintenance(doc *Document, m *api.MemberMaintenance, stored *api.Spec, found bool) {
	faults := upgrades.MemberMaintenance(m, window.Zones(time.LoadLocation).Known)
	f.refused.faults = append(f.refused.faults, faults...)
	var old *api.MemberMaintenance
	if found {
		var err error
		if old, err = api.SpecOf[api.MemberMaintenance](stored); err != nil {
			old = nil // what cannot be read gives no dates
		}
	}
	upgrades.DefaultMaintenance(m, old, f.now.Time, time.LoadLocation)
	if len(faults) == 0 {
		doc.notes = append(doc.notes, upgrade.MaintenanceWarnings(m, time.LoadLocation, f.now.Time)...)
	}
}

// checkEdit refuses a change of a run's spec that comes too late.
func (f *Draft) checkEdit(doc *Document, next, stored *api.Spec) error {
	run := validate.As[api.UpdateRun](&doc.Decoded)
	if run == nil || stored.Generation == 0 || next.Generation == stored.Generation {
		return nil
	}
	was, err := api.SpecOf[api.UpdateRun](stored)
	if err != nil {
		return nil // what cannot be read forbids nothing
	}
	status, err := f.records.CertainRunStatus(stored)
	if err != nil {
		return err
	}
	f.refuse(upgrade.CheckEdit(was, run, status))
	return nil
}

// refuse adds a refusal to the draft; that of faults joins the other faults.
func (f *Draft) refuse(refusal *api.Refusal) {
	switch {
	case refusal == nil:
	case refusal.Code == api.CodeInvalidArgument && len(refusal.Faults) > 0:
		f.refused.faults = append(f.refused.faults, refusal.Faults...)
	default:
		f.refusals = append(f.refusals, refusal)
	}
}

// judge looks at what a draft writes as it would be together.
func (d *Desk) judge(ctx context.Context, f *Draft) error {
	if err := d.judgeUpgrades(f); err != nil {
		return err
	}
	d.judgeRuns(f)
	d.judgeOverrides(f)
	f.noteBudgets()
	if f.Planning == nil {
		f.Remark(ctx)
	}
	return nil
}

// judgeUpgrades looks at the upgrade documents of a draft as they would be together: whether runs could
// be created, whether profiles aim at what is released, and what is remarkable.
func (d *Desk) judgeUpgrades(f *Draft) error {
	var after *advice.Upgrades
	for _, doc := range f.typed {
		if err := f.Planning.GoOn(); err != nil {
			return err
		}
		switch value := doc.Value.(type) {
		case *api.UpdateRun:
			if _, _, exists := f.records.Specs[api.KindUpdateRun].Get(value.Name); !exists {
				if refusal := advice.OfNoProfile(value); refusal != nil {
					f.refuse(refusal)
					continue
				}
			}
			if f.Planning != nil || len(f.refusals) > 0 { // a plan tells of runs itself
				continue
			}
		case *api.UpdateStrategy, *api.AutoUpgradeProfile, *api.MemberMaintenance:
		default:
			continue
		}
		if after == nil {
			var err error
			if after, err = f.Upgrades(); err != nil {
				return err
			}
		}
		found := after.Judge(doc.Value, f.now.Time)
		f.refuse(found.Refusal)
		f.note(doc.Object, found.Notes...)
	}
	return nil
}

// note adds notes to the result of an object.
func (f *Draft) note(object api.ObjectRef, notes ...string) {
	if len(notes) == 0 {
		return
	}
	for i := range f.Results {
		if r := &f.Results[i]; r.Object == object {
			r.Notes = append(r.Notes, notes...)
		}
	}
}

// noteSelections says of the placements among documents which of their selectors select nothing, and what they ask for that
// the fleet cannot give yet.
func (f *Draft) noteSelections(read *Documents) error {
	documents := read.All
	var members []api.Member
	for i := range documents {
		p := validate.As[api.Placement](&documents[i].Decoded)
		if p == nil {
			continue
		}
		if err := f.Planning.GoOn(); err != nil {
			return err
		}
		if members == nil {
			var err error
			if members, err = f.records.MembersAfter(read.Members(), f.now.Time); err != nil {
				return err
			}
		}
		f.note(documents[i].Object, content.Unmatched(p.Spec.ResourceSelectors, p.Namespace, f.index, api.OnTheHub)...)
		f.note(documents[i].Object, schedule.Hopes(p, members)...)
	}
	return nil
}
