package draft

import (
	"fmt"
	"strings"

	"flotilla/core/api"
	"flotilla/subjects"
)

// crowd refuses members whose shares the streams have no room for: one that fills its share would then take
// from others.
func (d *Desk) crowd(f *Draft) *api.Failure {
	added, first := 0, ""
	for _, op := range f.ops {
		if strings.HasPrefix(op.Key, subjects.MemberSpecs.Prefix()) && op.Revision == 0 && op.Value != nil {
			if added++; first == "" {
				first, _ = subjects.MemberSpecs.Name(op.Key)
			}
		}
	}
	capacity, members := d.store.Capacity(), d.records.Members.Len()
	if added == 0 || capacity.Size <= 0 || members+added <= capacity.Members {
		return nil
	}
	who := "member " + first + " is"
	if added > 1 {
		who = fmt.Sprintf("%d members, first %s, are", added, first)
	}
	return &api.Failure{
		Code: api.CodeRefused, Message: fmt.Sprintf("nothing was applied: %s not admitted: there are %d, and %s", who, members, capacity),
		Next: "nats stream info " + capacity.Stream,
	}
}
