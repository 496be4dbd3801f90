package dispatcher

import (
	"maps"
	"reflect"
	"slices"
	"sync"

	"flotilla/core/api"
	"flotilla/core/upgrade"
)

// operations hold what every member is to upgrade, kept in step with the runs.
type operations struct {
	mu       sync.Mutex
	byMember map[string]map[string]api.UpgradeOperation // member, run
	members  map[string][]string                        // run, its members
}

func newOperations() *operations {
	return &operations{byMember: map[string]map[string]api.UpgradeOperation{}, members: map[string][]string{}}
}

// set takes over the operations of a run, none when it is gone, and returns the members whose
// operations changed.
func (o *operations) set(run string, wanted []upgrade.Wanted) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var changed, members []string
	for i := range wanted {
		members = append(members, wanted[i].Member)
	}
	for _, member := range o.members[run] {
		if !slices.Contains(members, member) {
			if delete(o.byMember[member], run); len(o.byMember[member]) == 0 {
				delete(o.byMember, member)
			}
			changed = append(changed, member)
		}
	}
	for i := range wanted {
		member, operation := wanted[i].Member, wanted[i].Operation
		if held, known := o.byMember[member][run]; known && reflect.DeepEqual(held, operation) {
			continue
		}
		if o.byMember[member] == nil {
			o.byMember[member] = map[string]api.UpgradeOperation{}
		}
		o.byMember[member][run] = operation
		changed = append(changed, member)
	}
	o.members[run] = members
	if len(members) == 0 {
		delete(o.members, run)
	}
	return changed
}

// of is the operation of a member, nil when there is nothing to do. The lock of a member lets one run
// upgrade it at a time; should two records claim it, the first by name counts until that is settled.
func (o *operations) of(member string) *api.UpgradeOperation {
	o.mu.Lock()
	defer o.mu.Unlock()
	runs := slices.Sorted(maps.Keys(o.byMember[member]))
	if len(runs) == 0 {
		return nil
	}
	operation := o.byMember[member][runs[0]]
	return &operation
}
