package crowd

import (
	"encoding/json"
	"slices"

	"flotilla/core/api"
	"flotilla/subjects"
)

// resultID names a result within its member.
type resultID struct{ kind, name string }

// shelf is what a player reports, by the slots it is stored in.
type shelf struct {
	all   [subjects.ResultSlots]map[resultID]json.RawMessage
	stale [subjects.ResultSlots]bool
}

func (s *shelf) put(id resultID, result any) {
	slot := subjects.ResultSlot(id.kind, id.name)
	if s.all[slot] == nil {
		s.all[slot] = map[resultID]json.RawMessage{}
	}
	s.all[slot][id], s.stale[slot] = encode(result), true
}

func (s *shelf) drop(id resultID) {
	slot := subjects.ResultSlot(id.kind, id.name)
	if _, held := s.all[slot][id]; held {
		delete(s.all[slot], id)
		s.stale[slot] = true
	}
}

// dirty are the slots to store, which count as stored from then on.
func (s *shelf) dirty() (slots []int) {
	for slot := range s.stale {
		if s.stale[slot] {
			s.stale[slot] = false
			slots = append(slots, slot)
		}
	}
	return slots
}

// of is what a slot holds, sorted as agents do.
func (s *shelf) of(slot int) []api.BatchedResult {
	results := []api.BatchedResult{}
	for id, result := range s.all[slot] {
		results = append(results, api.BatchedResult{Kind: id.kind, Name: id.name, Result: result})
	}
	slices.SortFunc(results, func(a, b api.BatchedResult) int {
		return slices.Compare([]string{a.Kind, a.Name}, []string{b.Kind, b.Name})
	})
	return results
}
