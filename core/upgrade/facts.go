package upgrade

import (
	"maps"

	"flotilla/core/api"
)

// FactsOf joins what the hub knows of a member: its MemberCluster, the registrar's record of it, what
// its agent lists, and the schedules that users wrote for it; all but the first may be nil. Runner and
// door see the same fleet through it.
func FactsOf(mc *api.MemberCluster, record *api.MemberRecord, inventory *api.MemberInventory, maintenance *api.MemberMaintenance) MemberFacts {
	facts := MemberFacts{Name: mc.Name, UID: string(mc.UID), Labels: map[string]string{}}
	if record != nil {
		maps.Copy(facts.Labels, record.Labels)
		facts.LastSeen = record.LastSeen.Time
		facts.Eligible = mc.DeletionTimestamp == nil && record.UID == string(mc.UID) && joined(record.State)
		facts.Reachable = inventory != nil && (record.State == api.MemberReady || record.State == api.MemberNotReady)
	}
	maps.Copy(facts.Labels, mc.Labels)
	facts.Labels[api.LabelMemberName] = mc.Name
	facts.Group = facts.Labels[api.LabelUpdateGroup]
	if inventory != nil {
		facts.Inventory = *inventory
	}
	if maintenance != nil {
		facts.Maintenance = &maintenance.Spec
	}
	return facts
}

// joined reports a member that is part of the fleet, heard of or not.
func joined(state api.MemberState) bool {
	return state == api.MemberReady || state == api.MemberNotReady || state == api.MemberUnknown
}
