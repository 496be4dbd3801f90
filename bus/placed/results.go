package placed

import (
	"slices"

	"flotilla/bus/store"
	"flotilla/bus/watch"
	"flotilla/core/api"
	"flotilla/subjects"
)

// Results answers what members say of the placements on them.
type Results struct {
	all *watch.Values[api.PlacementResult]
}

// ResultsOf are those that the leader follows.
func ResultsOf(s *store.Store) Results {
	return Results{watch.ValuesOf[api.PlacementResult](s.Results)}
}

// Of is the newest result of a member about a placement, nil when there is none that can be read.
func (r Results) Of(member, placement string) *api.PlacementResult {
	result, _ := r.Stored(member, placement)
	return result
}

// Stored is Of with the entry that it stands in, whose Sequence is 0 when there is none.
func (r Results) Stored(member, placement string) (*api.PlacementResult, watch.CacheEntry) {
	return r.all.Get(subjects.ResultKey(member, subjects.CommandPlacement, placement))
}

// On lists the placements that are bound or released to a member.
func On(bound, released *store.Inverse, member string) []string {
	all := append(bound.Of(member), released.Of(member)...)
	slices.Sort(all)
	return slices.Compact(all)
}

// MemberOf is the spec of a member and the state that it is in, nil when it is not part of the fleet.
func MemberOf(specs *store.Table[api.Spec], seen *store.Table[api.MemberRecord], member string) (*api.Spec, api.MemberState, error) {
	spec, _, found, err := specs.Find(member)
	if err != nil || !found {
		return nil, "", err
	}
	record, _, _, err := seen.Find(member)
	if err != nil {
		return nil, "", err
	}
	return &spec, record.State, nil
}
