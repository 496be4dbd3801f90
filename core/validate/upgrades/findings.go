package upgrades

import (
	"flotilla/core/api"
	"flotilla/core/strict"
)

// FindingsOfRun are what UpdateRun finds, by place.
func FindingsOfRun(r *api.UpdateRun) strict.Findings {
	return find(func(u *faults) { u.run(r) })
}

// FindingsOfStrategy are what UpdateStrategy finds, by place.
func FindingsOfStrategy(s *api.UpdateStrategy) strict.Findings {
	return find(func(u *faults) { u.strategyObject(s) })
}

// FindingsOfProfile are what AutoUpgradeProfile finds without a catalog, by place.
func FindingsOfProfile(p *api.AutoUpgradeProfile) strict.Findings {
	return find(func(u *faults) { u.profile(p, nil) })
}

// FindingsOfCatalog are what VersionCatalog finds, by place.
func FindingsOfCatalog(c *api.VersionCatalog) strict.Findings {
	return find(func(u *faults) { u.catalog(c) })
}

// FindingsOfMaintenance are what MemberMaintenance finds, by place.
func FindingsOfMaintenance(m *api.MemberMaintenance, knownZone func(string) bool) strict.Findings {
	return find(func(u *faults) { u.maintenance(m, knownZone) })
}

func find(judge func(*faults)) strict.Findings {
	var u faults
	judge(&u)
	return u.found
}
