package door

import (
	"fmt"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/core/strict"
)

// forbidden refuses to let somebody change objects beyond their role, and names every one of them.
func forbidden(by api.Caller, refs []api.ObjectRef) *api.Failure {
	var faults strict.Faults
	needed := api.RoleViewer
	for _, ref := range refs {
		role := api.NeededToWrite(ref.Kind)
		if by.Role.Covers(role) {
			continue
		}
		needed = role
		faults = append(faults, strict.Fault{
			Object: ref.String(), Path: "kind", Found: ref.Kind + ", asked for by " + by.Name + " who is " + string(by.Role),
			Expected: "the role " + string(role),
		})
	}
	if len(faults) == 0 {
		return nil
	}
	failure := api.Forbidden(by, needed, fmt.Sprintf("changing %s of %d", phrase.Count(len(faults), "object"), len(refs)))
	failure.Message, failure.Faults = "nothing was changed: "+failure.Message, faults
	return failure
}
