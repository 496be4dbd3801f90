package liveness

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"flotilla/core/api"
	"flotilla/core/strict"
)

// mostNamed is how many properties an event names.
const mostNamed = 5

// BeyondBounds lists, sorted, the properties whose values are amounts beyond the bounds of amounts: like any
// text that is no number, they count as none (D1, D28).
func BeyondBounds(properties map[string]string) []string {
	var out []string
	for name, value := range properties {
		if _, err := strict.ParseQuantity(value); errors.Is(err, strict.ErrAmountBounds) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// unreadableProperties warns of such properties, when they are others than before.
func (in *Input) unreadableProperties(r *api.MemberRecord) []api.Audit {
	if in.Previous != nil && maps.Equal(in.Previous.Properties, r.Properties) {
		return nil
	}
	beyond := BeyondBounds(r.Properties)
	if len(beyond) == 0 || in.Previous != nil && slices.Equal(BeyondBounds(in.Previous.Properties), beyond) {
		return nil
	}
	var named []string
	for _, name := range beyond[:min(len(beyond), mostNamed)] {
		named = append(named, fmt.Sprintf("%.80s is %.42q", name, r.Properties[name]))
	}
	if more := len(beyond) - len(named); more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	return []api.Audit{in.audit("Warning", "PropertyUnreadable", strings.Join(named, ", ")+": "+strict.ErrAmountBounds.Error()+
		", so it counts as no number; the agent has to report another value")}
}
