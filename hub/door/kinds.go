package door

import (
	"flotilla/bus"
	"flotilla/core/api"
	"flotilla/core/content"
	"flotilla/subjects"
)

// namedKind says where the specs of a kind lie whose objects go by their name alone, one record each.
type namedKind struct {
	token  string // of events
	family subjects.Family
}

var namedKinds = map[string]namedKind{
	api.KindUpdateRun:          {subjects.KindRun, subjects.RunSpecs},
	api.KindUpdateStrategy:     {subjects.KindStrategy, subjects.StrategySpecs},
	api.KindAutoUpgradeProfile: {subjects.KindProfile, subjects.ProfileSpecs},
	api.KindVersionCatalog:     {subjects.KindCatalog, subjects.CatalogSpecs},
	api.KindMemberMaintenance:  {subjects.KindMaintenance, subjects.MaintenanceSpecs},
	api.KindNodePool:           {subjects.KindNodePool, subjects.PoolSpecs},
	api.KindInstanceCatalog:    {subjects.KindInstances, subjects.InstanceCatalogSpecs},
}

// specsOf are the tables of the specs of named kinds, by kind.
func specsOf(a *bus.Access) map[string]*bus.Records[api.Spec] {
	specs := map[string]*bus.Records[api.Spec]{}
	for kind, where := range namedKinds {
		specs[kind] = bus.Writes[api.Spec](a, where.family)
	}
	return specs
}

// upgrades are the tables around upgrades that the runner writes.
type upgrades struct {
	runs     *bus.Table[api.UpdateRunStatus]
	profiles *bus.Table[api.AutoUpgradeProfileStatus]
}

func newUpgrades(a *bus.Access) *upgrades {
	return &upgrades{
		runs:     bus.Reads[api.UpdateRunStatus](a, subjects.Runs),
		profiles: bus.Reads[api.AutoUpgradeProfileStatus](a, subjects.Profiles),
	}
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
