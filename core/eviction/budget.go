package eviction

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
	"flotilla/core/phrase"
)

// unfit says that the budget means nothing for the placement: nobody knows how many members a PickAll wants.
func (b *Book) unfit() bool {
	if b.in.Placement.Spec.Policy.Type() != api.PickAll {
		return false
	}
	least := b.in.Budget.MinAvailable
	return b.in.Budget.MaxUnavailable != nil || least != nil && least.Type == intstr.String
}

// Remark says what is remarkable about a budget beside the placement of its name, nil when there is none; nothing where it
// bounds evictions as it says.
func Remark(p *api.Placement, budget *api.PlacementDisruptionBudgetSpec) string {
	b := Book{in: Input{Placement: p, Budget: budget}}
	switch {
	case p == nil:
		return "there is no ClusterResourcePlacement of its name yet"
	case p.Spec.Policy.Type() == api.PickFixed:
		return "its placement is a PickFixed, from which no eviction takes anything"
	case b.unfit():
		return "it blocks all evictions: nobody knows how many members a PickAll wants, so give it minAvailable, as a number"
	}
	return ""
}

// left is how many available members may go now, below 1 for none.
func (b *Book) left() int {
	switch available := b.available(); {
	case b.in.Budget.MaxUnavailable != nil:
		return scaled(b.in.Budget.MaxUnavailable, b.wanted()) - (len(b.bindings) - available + b.lost)
	case b.in.Budget.MinAvailable != nil:
		return available - scaled(b.in.Budget.MinAvailable, b.wanted())
	}
	return 0
}

// scaled is a number, or a percentage, rounded up, of some members. What cannot be read, which the door refuses, allows
// nothing that it is compared with.
func scaled(share *intstr.IntOrString, of int) int {
	n, err := intstr.GetScaledValueFromIntOrPercent(share, of, true)
	if err != nil {
		return 0
	}
	return n
}

// shownMembers is how many members a message names.
const shownMembers = 3

// unavailable names, for who reads why an eviction was blocked, the members that take the places of the budget.
func (b *Book) unavailable() string {
	var names []string
	for i := range b.bindings {
		if one := &b.bindings[i]; !one.available {
			names = append(names, one.member+" ("+one.lacks+")")
		}
	}
	text := ""
	if len(names) > 0 {
		text = "; unavailable: " + phrase.List(names, shownMembers)
	}
	if b.lost > 0 {
		text += "; " + phrase.Count(b.lost, "member") + " evicted and not replaced"
	}
	return text
}
