package liveness

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"flotilla/core/api"
)

// ReasonTooManyOffered is of more labels or properties in a heartbeat than count.
const ReasonTooManyOffered = "TooManyOffered"

// mostOffered is how many labels and how many properties of a heartbeat count: those that the agent may state, and those that
// every agent states, before all others, and the first by name. Labels that people write count beside them.
const mostOffered = 256

// counting are those of what a member offers that count, of which some come before all others.
func counting(offered map[string]string, comesFirst func(name string) bool) map[string]string {
	if len(offered) <= mostOffered {
		return offered
	}
	names := slices.Sorted(maps.Keys(offered))
	slices.SortStableFunc(names, func(a, b string) int {
		switch first := comesFirst(a); {
		case first == comesFirst(b):
			return 0
		case first:
			return -1
		default:
			return 1
		}
	})
	out := make(map[string]string, mostOffered)
	for _, name := range names[:mostOffered] {
		out[name] = offered[name]
	}
	return out
}

// mayState says which labels the agent of a member may state.
func mayState(spec *api.MemberCluster) func(string) bool {
	allowed := allowedKeys(spec)
	return func(key string) bool { return api.AllowsLabel(allowed, key) }
}

// everyAgentStates says which properties agents measure by themselves.
func everyAgentStates(name string) bool {
	return name == api.PropertyNodeCount || strings.HasPrefix(name, api.PropertyResourcePrefix)
}

// excessOf says how many labels and properties are offered, nil where all of them count.
func excessOf(labels, properties map[string]string) *api.Offers {
	if max(len(labels), len(properties)) <= mostOffered {
		return nil
	}
	return &api.Offers{Labels: len(labels), Properties: len(properties)}
}

// tooMany warns once while a heartbeat offers more than counts, however much that is.
func (in *Input) tooMany(r *api.MemberRecord) []api.Audit {
	if r.Excess == nil || in.Previous != nil && in.Previous.Excess != nil {
		return nil
	}
	var offered []string
	if n := r.Excess.Labels; n > mostOffered {
		offered = append(offered, fmt.Sprintf("%d labels", n))
	}
	if n := r.Excess.Properties; n > mostOffered {
		offered = append(offered, fmt.Sprintf("%d properties", n))
	}
	return []api.Audit{in.audit("Warning", ReasonTooManyOffered, fmt.Sprintf("its agent offers %s, of which %d count: "+
		"correct the configuration of the agent; labels that people write count all the same", strings.Join(offered, " and "), mostOffered))}
}
