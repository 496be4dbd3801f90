package eviction

import "flotilla/core/api"

// Stage says how far a drained member has come with a placement.
type Stage string

// The stages of a drain. A placement that the member does not hold any more has none.
const (
	Stays   Stage = "Stays"   // no drain takes it away
	Waits   Stage = "Waits"   // the budget does not let it go yet
	Leaving Stage = "Leaving" // the member gives it up
)

// Drain says which of some members that are drained lose their binding now, one after another as far as the budget goes,
// and whether any has to wait for it.
func (b *Book) Drain(members []string) (gone []string, waits bool) {
	for _, member := range members {
		one := b.find(member)
		if one == nil || b.invalid(member) != "" || one.state == leaving {
			continue
		}
		if allowed, _ := b.mayDrain(one); !allowed {
			waits = true
			continue
		}
		one.take()
		gone = append(gone, member)
	}
	return gone, waits
}

// mayDrain is allows, but that a binding goes too of which nothing is on the member yet.
func (b *Book) mayDrain(one *binding) (bool, string) {
	if one.state == scheduled && b.in.Freezes.On(api.FreezePlacements, one.member) == nil {
		return true, saysNoBudget
	}
	return b.allows(one)
}

// Progress says how far a member that is drained has come with the placement, and why it has come no further; no stage where
// the member holds nothing of it and is to get nothing.
func (b *Book) Progress(member string) (Stage, string) {
	one := b.find(member)
	if one == nil {
		return "", ""
	}
	if one.state != leaving {
		if wrong := b.invalid(member); wrong == saysPickFixed {
			return Stays, "spec.policy.clusterNames names the member"
		} else if wrong == "" {
			if allowed, message := b.mayDrain(one); !allowed {
				return Waits, message
			}
		}
	}
	if one.silent {
		return Leaving, "its agent is not heard of: it gives the placement up when it comes back"
	}
	return Leaving, ""
}
