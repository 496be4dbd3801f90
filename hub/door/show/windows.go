package show

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/picture"
)

// Windows answers when the members of the fleet may be upgraded.
func (v *View) Windows(_ context.Context, _ *struct{}) (any, error) {
	answer := &picture.Maintained{
		At: metav1.NewTime(v.store.Now()), Schedules: []api.MaintenanceWindow{}, Members: []picture.MaintainedMember{},
	}
	table := v.records.Specs[api.KindMemberMaintenance]
	for _, member := range v.records.Members.All() {
		var fleet, provider *api.MaintenanceConfiguration
		if stored, _, found := table.Get(member.Name); found {
			maintenance, err := api.SpecOf[api.MemberMaintenance](&stored)
			if err != nil {
				return nil, fmt.Errorf("reading the maintenance of %s: %w", member.Name, err)
			}
			fleet = &maintenance.Spec
		}
		if inventory := v.Inventory(member.Name); inventory != nil {
			provider = inventory.Maintenance
		}
		if err := answer.Add(member.Name, fleet, provider); err != nil {
			return nil, err
		}
	}
	return answer, nil
}
