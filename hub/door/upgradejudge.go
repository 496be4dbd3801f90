package door

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/strict"
	"flotilla/core/upgrade"
	"flotilla/core/validate"
	"flotilla/core/window"
)

// defaultMaintenance gives schedules their start dates, once it is known that their zones exist.
func (f *draft) defaultMaintenance(doc *document, m *api.MemberMaintenance, stored *api.Spec, found bool) {
	faults := validate.MemberMaintenance(m, window.Zones(time.LoadLocation).Known)
	f.refused.faults = append(f.refused.faults, faults...)
	var old *api.MemberMaintenance
	if found {
		var err error
		if old, err = api.SpecOf[api.MemberMaintenance](stored); err != nil {
			old = nil // what cannot be read gives no dates
		}
	}
	validate.DefaultMaintenance(m, old, f.now.Time, time.LoadLocation)
	if len(faults) == 0 {
		doc.notes = append(doc.notes, upgrade.MaintenanceWarnings(m, time.LoadLocation, f.now.Time)...)
	}
}

// checkEdit refuses a change of a run's spec that comes too late (updates.md 1.3).
func (f *draft) checkEdit(doc *document, next, stored *api.Spec) error {
	run := validate.As[api.UpdateRun](&doc.Decoded)
	if run == nil || stored.Generation == 0 || next.Generation == stored.Generation {
		return nil
	}
	was, err := api.SpecOf[api.UpdateRun](stored)
	if err != nil {
		return nil // what cannot be read forbids nothing
	}
	status, err := f.records.upgrades.certain(stored)
	if err != nil {
		return err
	}
	f.refuse(upgrade.CheckEdit(was, run, status))
	return nil
}

// refuse adds a refusal to the draft; that of faults joins the other faults.
func (f *draft) refuse(refusal *api.Refusal) {
	switch {
	case refusal == nil:
	case refusal.Code == api.CodeInvalidArgument && len(refusal.Faults) > 0:
		f.refused.faults = append(f.refused.faults, refusal.Faults...)
	default:
		f.refusals = append(f.refusals, refusal)
	}
}

// refusedUpgrades is the failure of a request that breaks rules about upgrades: the first one gives the
// code and the next command, all are told.
func refusedUpgrades(refusals []*api.Refusal) *api.Failure {
	failure := refusals[0].Failure()
	messages := []string{failure.Message}
	for _, other := range refusals[1:] {
		more := other.Failure()
		messages = append(messages, more.Message)
		failure.Faults = append(failure.Faults, more.Faults...)
	}
	failure.Message = "nothing was applied: " + strings.Join(messages, "; ")
	return failure
}

// judge looks at what a draft writes as it would be together.
func (d *Door) judge(f *draft) error {
	if err := d.judgeUpgrades(f); err != nil {
		return err
	}
	d.judgeNodes(f)
	d.noteEffects(f)
	return nil
}

// judgeUpgrades looks at the upgrade documents of a draft as they would be together: whether runs could
// be created, whether profiles aim at what is released, and what is remarkable.
func (d *Door) judgeUpgrades(f *draft) error {
	if !slices.ContainsFunc(f.typed, func(doc *document) bool {
		switch doc.Value.(type) {
		case *api.UpdateRun, *api.UpdateStrategy, *api.AutoUpgradeProfile, *api.MemberMaintenance:
			return true
		}
		return false
	}) {
		return nil
	}
	after, err := d.upgradesAfter(f)
	if err != nil {
		return err
	}
	for _, doc := range f.typed {
		switch value := doc.Value.(type) {
		case *api.UpdateRun:
			f.judgeRun(value, after)
		case *api.UpdateStrategy:
			f.note(doc, upgrade.StrategyWarnings(value, after.view.Fleet, f.now.Time)...)
		case *api.AutoUpgradeProfile:
			f.judgeProfile(doc, value, after)
		case *api.MemberMaintenance:
			if !after.members[value.Name] {
				f.note(doc, "there is no member "+value.Name+" yet")
			}
		}
	}
	return nil
}

// judgeRun refuses a run that could not be created (updates.md 1.3). A plan tells that itself.
func (f *draft) judgeRun(run *api.UpdateRun, after *upgradesAfter) {
	if _, _, exists := f.records.specs[api.KindUpdateRun].Get(run.Name); run.Spec.AutoUpgradeProfile != "" && !exists {
		f.refused.faults = append(f.refused.faults, strict.Fault{
			Object: api.KindUpdateRun + "/" + run.Name, Path: "spec.autoUpgradeProfile",
			Found: fmt.Sprintf("%q", run.Spec.AutoUpgradeProfile), Expected: "nothing: the hub sets it on the runs it makes of a profile",
		})
		return
	}
	if f.planning || len(f.refusals) > 0 {
		return
	}
	status, refusal := upgrade.Create(run, after.strategies[run.Spec.StrategyName], after.view, f.now.Time)
	f.refuse(refusal)
	f.noteOn(api.KindUpdateRun, run.Name, status.Warnings...)
}

func (f *draft) judgeProfile(doc *document, profile *api.AutoUpgradeProfile, after *upgradesAfter) {
	f.refused.faults = append(f.refused.faults, validate.AutoUpgradeProfile(profile, after.minors())...)
	if name := profile.Spec.StrategyName; name != "" && after.strategies[name] == nil {
		f.note(doc, "there is no UpdateStrategy "+name+" yet: until there is one, no run can be made")
	}
}

func (f *draft) note(doc *document, notes ...string) {
	f.noteOn(doc.Object.Kind, doc.Object.Name, notes...)
}

// noteOn adds notes to the result of an object that lies in no namespace.
func (f *draft) noteOn(kind, name string, notes ...string) {
	for i := range f.results {
		if r := &f.results[i]; r.Object.Kind == kind && r.Object.Name == name {
			r.Notes = append(r.Notes, notes...)
		}
	}
}
