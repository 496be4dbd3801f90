package show

import (
	"context"

	"flotilla/core/api"
	"flotilla/core/health"
	"flotilla/core/status"
	"flotilla/hub/door/records"
)

// Status is the whole fleet on one screen, problems first.
func (v *View) Status(ctx context.Context, _ *struct{}) (any, error) {
	fleet := &api.FleetStatus{
		Fleet: v.store.Conn.Fleet.Name, Leader: v.store.Term.Holder, Term: v.store.Term.Term, Members: map[string]int{},
		Placements: v.records.Placements.Len(), Frozen: v.records.InForce(),
	}
	for _, schedule := range v.records.Schedules.All() {
		fleet.Bindings += len(schedule.Value.Bindings)
	}
	v.memberHealth(fleet)
	v.placementHealth(fleet)
	fleet.Problems = append(fleet.Problems, v.storeProblems(ctx)...)
	v.nodeHealth(fleet)
	v.runHealth(fleet)
	fleet.Problems = health.Listed(fleet.Problems)
	return fleet, nil
}

// memberHealth counts members by state, and adds their problems.
func (v *View) memberHealth(fleet *api.FleetStatus) {
	now := v.store.Now()
	for _, entry := range v.records.Seen.All() {
		record := &entry.Value
		if v.records.Lingers(record) {
			continue
		}
		fleet.Members[string(record.State)]++
		var known *api.Identity
		if identity, _, _, err := v.identities.Find(record.Name); err == nil {
			known = &identity
		}
		fleet.Problems = append(fleet.Problems, health.Member(record, known)...)
		if c, identity := v.credentials(record); c != nil {
			fleet.Problems = append(fleet.Problems, health.Credentials(record, identity, c)...)
		}
	}
	clusters := map[string]string{}
	for _, entry := range v.records.Members.All() {
		if inventory, _ := v.inventories.Get(entry.Name); inventory != nil {
			clusters[entry.Name] = inventory.ClusterResourceID
		}
		if _, _, seen := v.records.Seen.Get(entry.Name); !seen {
			fleet.Members[string(api.MemberJoining)]++
			fleet.Problems = append(fleet.Problems, health.Silent(entry.Name, entry.Value.Created))
		}
	}
	fleet.Problems = append(fleet.Problems, health.SharedClusters(clusters)...)
	if v.options.Uses == nil {
		return
	}
	for member, use := range v.options.Uses() {
		if use.Refused > 0 {
			fleet.Problems = append(fleet.Problems, health.Share(member, use.Text(v.store.Share()), use.Last, now)...)
		}
	}
}

// placementHealth counts the placements that members are on the way to, and adds the problems of all, also those of
// withdrawals from placements that are gone.
func (v *View) placementHealth(fleet *api.FleetStatus) {
	var moving []api.MemberHold
	for _, entry := range v.records.Placements.All() {
		ref := entry.Value.Object
		if entry.Value.Deleted != nil {
			fleet.Problems = append(fleet.Problems, health.Deleting(records.EventName(ref), "flotilla describe "+records.Typed(ref),
				entry.Value.Deleted, v.withState(v.unconfirmedMembers(&entry.Value, entry.Name))))
			continue
		}
		p, err := v.records.Placement(&entry)
		if err != nil { // a problem of its own, see unreadableProblems
			continue
		}
		in := v.groundOf(p)
		calm := health.Calm(in)
		if !calm || withdraws(in.Release) {
			moving = append(moving, v.book(p).Holds()...)
		}
		if calm {
			continue
		}
		now, _ := status.NewFold(in, v.said(p.Key())).Follow(in.Previous, in.JudgeFrom, in.Now)
		problems, converging := health.Placement(in, &now)
		fleet.Problems = append(fleet.Problems, problems...)
		if converging {
			fleet.Converging++
		}
	}
	v.held(fleet, moving)
	for _, release := range v.records.Releases.All() {
		spec, _, found := v.records.Placements.Get(release.Name)
		if !found || spec.Deleted == nil {
			fleet.Problems = append(fleet.Problems, health.Unconfirmed(&release.Value, !found, v.withState, v.store.Now())...)
		}
	}
}

// runHealth counts update runs by state, and adds the problems of runs and profiles.
func (v *View) runHealth(fleet *api.FleetStatus) {
	for _, entry := range v.records.Specs[api.KindUpdateRun].All() {
		if fleet.Runs == nil {
			fleet.Runs = map[string]int{}
		}
		status := v.records.RunStatus(&entry.Value)
		if status == nil {
			fleet.Runs[string(api.StateNotStarted)]++
			fleet.Problems = append(fleet.Problems, health.NotTakenUp(entry.Name, entry.Value.Created, v.store.Now())...)
			continue
		}
		fleet.Runs[string(status.Status.State)]++
		fleet.Problems = append(fleet.Problems, health.Run(status)...)
	}
	for _, entry := range v.records.Profiles.All() {
		if spec, _, found := v.records.Specs[api.KindAutoUpgradeProfile].Get(entry.Name); found && spec.UID == entry.Value.UID {
			fleet.Problems = append(fleet.Problems, health.Profile(entry.Name, &entry.Value)...)
		}
	}
}
