package draft

import (
	"fmt"
	"time"

	"flotilla/core/advice"
	"flotilla/core/api"
	"flotilla/core/upgrade"
	"flotilla/core/validate"
	"flotilla/core/version"
	"flotilla/hub/door/records"
)

// Upgrades is what update runs depend on, as it would be once the draft is committed.
func (f *Draft) Upgrades() (*advice.Upgrades, error) {
	strategies, err := specsAfter[api.UpdateStrategy](f, api.KindUpdateStrategy)
	if err != nil {
		return nil, err
	}
	catalogs, err := specsAfter[api.VersionCatalog](f, api.KindVersionCatalog)
	if err != nil {
		return nil, err
	}
	after := &advice.Upgrades{Strategies: strategies}
	if catalog := catalogs[api.CatalogDefault]; catalog != nil {
		if after.View.Catalog, err = version.NewCatalog(&catalog.Spec); err != nil {
			return nil, fmt.Errorf("reading the version catalog: %w", err)
		}
	}
	return after, f.fleetAfter(after)
}

// specsAfter are all objects of a kind by name, those a draft writes as it writes them.
func specsAfter[T any, P api.PointerTo[T]](f *Draft, kind string) (map[string]*T, error) {
	table, _ := f.records.Place(api.ObjectRef{Kind: kind})
	all := map[string]*T{}
	for _, doc := range f.typed {
		if written := validate.As[T](&doc.Decoded); written != nil {
			all[doc.Object.Name] = written
		}
	}
	for _, entry := range table.All() {
		if _, going := f.going[entry.Value.Object]; going || all[entry.Name] != nil {
			continue
		}
		value, err := records.Decoded[T, P](f.records, &entry)
		if err != nil {
			return nil, err
		}
		all[entry.Name] = value
	}
	return all, nil
}

// fleetAfter fills in the members.
func (f *Draft) fleetAfter(after *advice.Upgrades) error {
	members, err := specsAfter[api.MemberCluster](f, api.KindMemberCluster)
	if err != nil {
		return err
	}
	maintenance, err := specsAfter[api.MemberMaintenance](f, api.KindMemberMaintenance)
	if err != nil {
		return err
	}
	after.View.Fleet = upgrade.NewFleet(time.LoadLocation)
	for name, member := range members {
		facts := f.desk.factsOf(member, f.records.RecordAfter(name, member), maintenance[name], f.now.Time)
		if err := after.View.Fleet.Set(facts); err != nil { // it is in the fleet, its windows closed
			f.desk.options.Log.Warn().Err(err).Msg("looking at members")
		}
	}
	return nil
}

// factsOf is what upgrades depend on of a member; record and maintenance may be nil.
func (d *Desk) factsOf(mc *api.MemberCluster, record *api.MemberRecord, maintenance *api.MemberMaintenance, now time.Time) upgrade.MemberFacts {
	member := api.MemberFrom(mc, record, now)
	inventory := d.options.Inventory(mc.Name)
	var state api.MemberState
	var lastSeen time.Time
	if record != nil {
		state, lastSeen = record.State, record.LastSeen.Time
	}
	var schedules *api.MaintenanceConfiguration
	if maintenance != nil {
		schedules = &maintenance.Spec
	}
	return upgrade.FactsOf(&member, state, lastSeen, inventory, schedules)
}
