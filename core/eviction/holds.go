package eviction

import (
	"slices"

	"flotilla/core/api"
)

// Holds says of which members the placement has a hold: those that it is on the way to, or off, and for what.
func (b *Book) Holds() (holds []api.MemberHold) {
	for i := range b.bindings {
		if one := &b.bindings[i]; one.moves {
			holds = append(holds, api.MemberHold{Member: one.member, Holder: b.cause(one) + " of " + b.in.Placement.Key(), Since: one.since})
		}
	}
	return holds
}

// cause is what moves a binding.
func (b *Book) cause(one *binding) string {
	if s := b.in.Schedule; one.state == leaving && s != nil {
		switch {
		case slices.Contains(s.Evicted, one.member):
			return "eviction"
		case slices.Contains(s.Drained, one.member):
			return "drain"
		}
	}
	return "rollout"
}
