package capacity

import (
	"strconv"

	"flotilla/core/api"
)

// DefaultLabels are labels that keep to the requirements of a new node, for whoever makes it to put where
// nobody knows better: a node that lacks a label its pool asks for would be drifted from the start. What a
// machine is, such as its zone, is not among them. Nil when there are none.
func DefaultLabels(requirements []api.NodeRequirement) map[string]string {
	var asked Needs
	for i := range requirements {
		r := &requirements[i]
		asked = asked.With(CanonicalLabel(r.Key), SetOf(r.Operator, r.Values))
	}
	var out map[string]string
	for i := range asked {
		value, ok := asked[i].Set.first()
		if !ok || WellKnown[asked[i].Key] {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[asked[i].Key] = value
	}
	return out
}

// first is a value that a set asks for: the first one listed, the number next to a bound, or "true" when
// anything will do. False for a set that is content without the label, or that no value meets.
func (s *Set) first() (string, bool) {
	switch {
	case s.Lenient():
		return "", false
	case !s.Anything:
		return s.Values[0], true
	case !s.Bounded:
		return "true", true
	}
	for i := range int64(len(s.Values)) + 1 {
		for _, n := range []int64{s.Above + 1 + i, s.Below - 1 - i} {
			if text := strconv.FormatInt(n, 10); s.Has(text) && len(text) <= maxLabelNumber {
				return text, true
			}
		}
	}
	return "", false
}

// maxLabelNumber bounds numbers in labels: a set without a lower bound begins at the least of all.
const maxLabelNumber = 18
