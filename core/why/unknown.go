package why

import (
	"fmt"
	"slices"

	"flotilla/core/api"
	"flotilla/core/schedule"
	"flotilla/core/strict"
)

// Unknown refuses to explain a name that is no member and that the policy does not name either, with the
// member that was probably meant; nil when there is something to explain.
func Unknown(in schedule.Input, member string) *api.Failure {
	if in.Fleet == nil {
		in.Fleet = schedule.NewFleet()
	}
	if _, found := in.Fleet.Member(member); found || in.Policy != nil && slices.Contains(in.Policy.ClusterNames, member) {
		return nil
	}
	f := &api.Failure{Code: api.CodeNotFound, Message: fmt.Sprintf("no member %s", member), Next: "flotilla get members"}
	if near := strict.Nearest(member, in.Fleet.Names()); near != "" {
		f.Message += ", did you mean " + near + "?"
	}
	return f
}
