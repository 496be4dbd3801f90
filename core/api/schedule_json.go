package api

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// storedSchedule is a Schedule without methods. What a binding shares with its schedule, or can say
// of itself, is not stored: its policy, and the reason of one that was picked.
type storedSchedule Schedule

// MarshalJSON writes the schedule without what its bindings repeat.
func (s Schedule) MarshalJSON() ([]byte, error) {
	stored := storedSchedule(s)
	stored.Bindings = make([]Binding, len(s.Bindings))
	for i, b := range s.Bindings {
		if b.Policy == s.Policy {
			b.Policy = ""
		}
		if !b.Waiting {
			b.Reason = ""
		}
		stored.Bindings[i] = b
	}
	return json.Marshal(&stored)
}

// UnmarshalJSON reads the schedule and fills in what was left out.
func (s *Schedule) UnmarshalJSON(text []byte) error {
	var stored storedSchedule
	if err := json.Unmarshal(text, &stored); err != nil {
		return fmt.Errorf("reading a schedule: %w", err)
	}
	*s = Schedule(stored)
	s.fill()
	return nil
}

// fill gives every binding its policy and its reason; the reasons share one string.
func (s *Schedule) fill() {
	var all []byte
	ends := make([]int, len(s.Bindings))
	for i := range s.Bindings {
		b := &s.Bindings[i]
		if b.Policy == "" {
			b.Policy = s.Policy
		}
		if b.Reason == "" {
			all = appendPicked(all, b.Member, b.AffinityScore, b.SpreadScore)
		}
		ends[i] = len(all)
	}
	text, start := string(all), 0
	for i := range s.Bindings {
		if s.Bindings[i].Reason == "" {
			s.Bindings[i].Reason = text[start:ends[i]]
		}
		start = ends[i]
	}
}

// PickedReason is the sentence about a picked member; scores are nil where none were given
// (PickFixed). The words are KubeFleet's.
func PickedReason(member string, affinity, spread *int32) string {
	return string(appendPicked(nil, member, affinity, spread))
}

func appendPicked(to []byte, member string, affinity, spread *int32) []byte {
	to = append(to, "Successfully scheduled resources for placement in \""...)
	to = append(to, member...)
	to = append(to, '"')
	if affinity != nil && spread != nil {
		to = append(to, " (affinity score: "...)
		to = strconv.AppendInt(to, int64(*affinity), 10)
		to = append(to, ", topology spread score: "...)
		to = strconv.AppendInt(to, int64(*spread), 10)
		to = append(to, ')')
	}
	return append(to, ": picked by scheduling policy"...)
}
