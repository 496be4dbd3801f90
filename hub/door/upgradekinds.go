package door

import (
	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/subjects"
)

// upgradeKind says where the specs of a kind around upgrades lie. They live in one record each, and
// nobody has to confirm that they go.
type upgradeKind struct {
	token  string // of events
	family subjects.Family
}

var upgradeKinds = map[string]upgradeKind{
	api.KindUpdateRun:          {subjects.KindRun, subjects.RunSpecs},
	api.KindUpdateStrategy:     {subjects.KindStrategy, subjects.StrategySpecs},
	api.KindAutoUpgradeProfile: {subjects.KindProfile, subjects.ProfileSpecs},
	api.KindVersionCatalog:     {subjects.KindCatalog, subjects.CatalogSpecs},
	api.KindMemberMaintenance:  {subjects.KindMaintenance, subjects.MaintenanceSpecs},
}

// upgrades are the tables around upgrades that the door reads.
type upgrades struct {
	specs    map[string]*bus.Table[api.Spec] // by kind
	runs     *bus.Table[api.UpdateRunStatus]
	profiles *bus.Table[api.AutoUpgradeProfileStatus]
}

func newUpgrades(s *bus.State) *upgrades {
	u := &upgrades{
		specs:    map[string]*bus.Table[api.Spec]{},
		runs:     bus.TableOf[api.UpdateRunStatus](s, subjects.Runs),
		profiles: bus.TableOf[api.AutoUpgradeProfileStatus](s, subjects.Profiles),
	}
	for kind, where := range upgradeKinds {
		u.specs[kind] = bus.TableOf[api.Spec](s, where.family)
	}
	return u
}

// status is the status of the run that spec is of, nil while the runner has not taken it up.
func (u *upgrades) status(spec *api.Spec) *api.UpdateRunStatus {
	status, _, found := u.runs.Get(spec.Object.Name)
	if !found || status.UID != spec.UID {
		return nil
	}
	return &status
}

// certain is status for those who change the run: a status that cannot be read is an error, as it may be
// that of a run in progress.
func (u *upgrades) certain(spec *api.Spec) (*api.UpdateRunStatus, error) {
	if _, _, _, err := u.runs.Find(spec.Object.Name); err != nil {
		return nil, err
	}
	return u.status(spec), nil
}

// ourGate says that a name is one of a gate of a run, not of content of a kind called Gate.
func ourGate(ref api.ObjectRef) bool {
	return ref.Kind == api.KindGate && (ref.APIVersion == "" || content.GroupOf(ref.APIVersion) == api.GroupFlotilla)
}
