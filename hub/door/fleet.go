package door

import (
	"context"

	"flotilla/core/api"
	"flotilla/core/health"
)

// status is the whole fleet on one screen, problems first.
func (d *Door) status(ctx context.Context, _ *struct{}) (any, error) {
	fleet := &api.FleetStatus{
		Fleet: d.store.Conn.Fleet.Name, Leader: d.store.Term.Holder, Term: d.store.Term.Term, Members: map[string]int{},
		Placements: d.records.placements.Len(),
	}
	for _, schedule := range d.records.schedules.All() {
		fleet.Bindings += len(schedule.Value.Bindings)
	}
	d.memberHealth(fleet)
	d.placementHealth(fleet)
	fleet.Problems = append(fleet.Problems, d.storeProblems(ctx)...)
	d.nodeHealth(fleet)
	d.runHealth(fleet)
	fleet.Problems = health.Listed(fleet.Problems)
	return fleet, nil
}

// memberHealth counts members by state, and adds their problems.
func (d *Door) memberHealth(fleet *api.FleetStatus) {
	now := d.store.Now()
	for _, entry := range d.records.seen.All() {
		record := &entry.Value
		if d.records.lingers(record) {
			continue
		}
		fleet.Members[string(record.State)]++
		var known *api.Identity
		if identity, _, _, err := d.records.identities.Find(record.Name); err == nil {
			known = &identity
		}
		fleet.Problems = append(fleet.Problems, health.Member(record, known)...)
		if c, identity := d.credentials(record); c != nil {
			fleet.Problems = append(fleet.Problems, health.Credentials(record, identity, c)...)
		}
	}
	for _, entry := range d.records.members.All() {
		if _, _, seen := d.records.seen.Get(entry.Name); !seen {
			fleet.Members[string(api.MemberJoining)]++
			fleet.Problems = append(fleet.Problems, health.Silent(entry.Name, entry.Value.Created))
		}
	}
	if d.options.Uses == nil {
		return
	}
	for member, use := range d.options.Uses() {
		if use.Refused > 0 {
			fleet.Problems = append(fleet.Problems, health.Share(member, use.Text(d.store.Share), use.Last, now)...)
		}
	}
}

// placementHealth counts the placements that members are on the way to, and adds the problems of all, also those of
// withdrawals from placements that are gone.
func (d *Door) placementHealth(fleet *api.FleetStatus) {
	for _, entry := range d.records.placements.All() {
		ref := entry.Value.Object
		if entry.Value.Deleted != nil {
			fleet.Problems = append(fleet.Problems, health.Deleting(auditName(ref), "flotilla describe "+typed(ref),
				entry.Value.Deleted, d.withState(d.unconfirmedMembers(&entry.Value, entry.Name))))
			continue
		}
		p, err := d.decoded.placement(&entry)
		if err != nil { // a problem of its own, see unreadableProblems
			continue
		}
		problems, converging := health.Placement(d.statusOf(p))
		fleet.Problems = append(fleet.Problems, problems...)
		if converging {
			fleet.Converging++
		}
	}
	for _, release := range d.records.releases.All() {
		spec, _, found := d.records.placements.Get(release.Name)
		if !found || spec.Deleted == nil {
			fleet.Problems = append(fleet.Problems, health.Unconfirmed(&release.Value, !found, d.withState, d.store.Now())...)
		}
	}
}

// runHealth counts update runs by state, and adds the problems of runs and profiles.
func (d *Door) runHealth(fleet *api.FleetStatus) {
	for _, entry := range d.records.specs[api.KindUpdateRun].All() {
		if fleet.Runs == nil {
			fleet.Runs = map[string]int{}
		}
		status := d.records.upgrades.status(&entry.Value)
		if status == nil {
			fleet.Runs[string(api.StateNotStarted)]++
			fleet.Problems = append(fleet.Problems, health.NotTakenUp(entry.Name, entry.Value.Created, d.store.Now())...)
			continue
		}
		fleet.Runs[string(status.Status.State)]++
		fleet.Problems = append(fleet.Problems, health.Run(status)...)
	}
	for _, entry := range d.records.upgrades.profiles.All() {
		if spec, _, found := d.records.specs[api.KindAutoUpgradeProfile].Get(entry.Name); found && spec.UID == entry.Value.UID {
			fleet.Problems = append(fleet.Problems, health.Profile(entry.Name, &entry.Value)...)
		}
	}
}
