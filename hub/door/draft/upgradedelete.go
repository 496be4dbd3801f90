package draft

import (
	"cmp"
	"slices"

	"flotilla/core/api"
	"flotilla/core/upgrade"
)

// deleteNamed adds the deletion of an object of a named kind to the draft, unless a rule forbids it. What
// else a run leaves behind, its status, gates and locks, the runner takes away.
func (f *Draft) deleteNamed(stored *api.Spec, revision uint64) error {
	switch stored.Object.Kind {
	case api.KindUpdateRun, api.KindClusterStagedUpdateRun, api.KindStagedUpdateRun:
		status, err := f.records.CertainRunStatus(stored)
		if err != nil {
			return err
		}
		if refusal := refuseDelete(status); refusal != nil {
			return refusal.Failure()
		}
	case api.KindUpdateStrategy:
		if err := f.strategyInUse(stored.Object.Name); err != nil {
			return err
		}
	}
	f.remove(stored, revision)
	return nil
}

func refuseDelete(status *api.UpdateRunStatus) *api.Refusal {
	if status == nil {
		return nil
	}
	_, refusal := upgrade.CheckDelete(status)
	return refusal
}

func (f *Draft) strategyInUse(name string) error {
	var profiles []api.AutoUpgradeProfile
	for _, entry := range f.records.Specs[api.KindAutoUpgradeProfile].All() {
		if _, going := f.going[entry.Value.Object]; going {
			continue
		}
		profile, err := api.SpecOf[api.AutoUpgradeProfile](&entry.Value)
		if err != nil {
			return err
		}
		profiles = append(profiles, *profile)
	}
	slices.SortFunc(profiles, func(a, b api.AutoUpgradeProfile) int { return cmp.Compare(a.Name, b.Name) })
	if refusal := upgrade.CheckStrategyDelete(name, profiles); refusal != nil {
		return refusal.Failure()
	}
	return nil
}
