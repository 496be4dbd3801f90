package hubd

import (
	"github.com/prometheus/client_golang/prometheus"

	"flotilla/bus/store"
	"flotilla/core/api"
	"flotilla/subjects"
)

var (
	frozenMetric = prometheus.NewDesc("flotilla_frozen", "Freezes in force, by what is frozen: fleet, placements, runs, nodes, member.", []string{"what"}, nil)
	heldMetric   = prometheus.NewDesc("flotilla_withdrawals_held", "Members, over all placements, on which a withdrawal is held until somebody approves it.", nil, nil)
)

// frozenOfMember is the label of freezes of single members.
const frozenOfMember = "member"

// frozenWhat are the values of the label of freezes, in the order of their series.
var frozenWhat = []string{api.FreezeFleet, api.FreezePlacements, api.FreezeRuns, api.FreezeNodes, frozenOfMember}

// collectGuards sends what is frozen, and how much is held.
func (c fleetCollector) collectGuards(s *store.Store, gauge func(*prometheus.Desc, float64, ...string)) {
	freezes := store.Reads[api.Freeze](s.State.As(subjects.Hubd), subjects.Freezes)
	frozen := frozenBy(freezes.Names(), func(scope string) bool {
		f, _, read := freezes.Get(scope)
		return read && f.Ended != nil
	})
	for _, what := range frozenWhat {
		gauge(frozenMetric, float64(frozen[what]), what)
	}
	gauge(heldMetric, float64(heldOn(store.Reads[api.Release](s.State.As(subjects.Hubd), subjects.Releases).All())))
}

// frozenBy counts the freezes of some scopes that did not end, by their label. One that cannot be read is in force.
func frozenBy(scopes []string, ended func(scope string) bool) map[string]int {
	frozen := map[string]int{}
	for _, scope := range scopes {
		what := scope
		if f := (api.Freeze{Scope: scope}); f.Member() != "" {
			what = frozenOfMember
		}
		if !ended(scope) {
			frozen[what]++
		}
	}
	return frozen
}

// heldOn is on how many members something of releases is held.
func heldOn(releases []store.Entry[api.Release]) (members int) {
	for i := range releases {
		for _, held := range releases[i].Value.Held {
			if held.Loss != (api.Loss{}) {
				members++
			}
		}
	}
	return members
}
