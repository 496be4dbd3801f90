package upgrade

import (
	"time"

	"flotilla/core/api"
)

// FactsOf puts together what upgrades depend on: a member as decisions see it, its state with the
// last heartbeat where that is Unknown, what its agent reported, nil before it did, and the schedules
// that the fleet has for it, nil without any. A member whose agent reported no inventory is not
// reachable for upgrades.
func FactsOf(m *api.Member, state api.MemberState, lastSeen time.Time, inventory *api.MemberInventory, maintenance *api.MaintenanceConfiguration) MemberFacts {
	facts := MemberFacts{
		Name: m.Name, UID: m.UID, Group: m.Labels[api.LabelUpdateGroup], Labels: m.Labels, Agent: m.Agent,
		Eligible: m.Joined == "True" && !m.Leaving, Leaving: m.Leaving, Maintenance: maintenance,
	}
	if inventory != nil {
		facts.Inventory = *inventory
	}
	facts.Reachable = facts.Eligible && inventory != nil && state != api.MemberUnknown
	if state == api.MemberUnknown {
		facts.LastSeen = lastSeen
	}
	return facts
}
