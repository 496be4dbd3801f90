package rollout

import (
	"fmt"
	"slices"

	"flotilla/core/phrase"
)

// explain gives every member that had to move, and does not, the reason.
func (r *rollout) explain(lim limits, l lists) {
	if r.anyWaits(l.update) || r.anyWaits(l.remove) {
		reason := r.unavailableReason(lim)
		for _, s := range l.remove {
			if r.waits(s) {
				s.held = "withdrawal " + reason
			}
		}
		if lim.maxUnavailable == 0 {
			reason = "waits: maxUnavailable 0 allows no update in place; set spec.strategy.rollingUpdate.maxUnavailable to 1 or more"
		}
		for _, s := range l.update {
			if r.waits(s) {
				s.held = reason
			}
		}
	}
	if r.anyWaits(l.add) {
		reason := r.surgeReason(lim)
		for _, s := range l.add {
			if r.waits(s) {
				s.held = reason
			}
		}
	}
}

// shownMembers is how many members a text names.
const shownMembers = 3

// waits says that a slot of a list was not chosen.
func (r *rollout) waits(s *slot) bool {
	return s.unscheduled() || s.joining() || s.bound() && r.stale(s)
}

func (r *rollout) anyWaits(list []*slot) bool {
	return slices.ContainsFunc(list, r.waits)
}

// unavailableReason names who takes the places of maxUnavailable, those chosen just now included.
func (r *rollout) unavailableReason(lim limits) string {
	var names []string
	ready := 0
	for _, s := range r.slots {
		switch {
		case s.bound() && s.ready && s.entry.Generation != 0, s.unscheduled() && s.ready:
			ready++
		case s.bound():
			names = append(names, r.nameOf(s))
		case s.joining() && !s.shut():
			names = append(names, s.member)
		}
	}
	missing := max(lim.target-ready, 0)
	text := fmt.Sprintf("waits: %d of %d %s unavailable, maxUnavailable %s allows %d",
		missing, lim.target, phrase.Plural(lim.target, "member", "members")+phrase.Plural(missing, " is", " are"), lim.unavailableText, lim.maxUnavailable)
	if len(names) == 0 {
		return text
	}
	return text + "; " + phrase.List(names, shownMembers) + phrase.Plural(len(names), " is", " are") + " not ready"
}

func (r *rollout) nameOf(s *slot) string {
	if s.unknown() {
		return s.member + " (no heartbeat)"
	}
	return s.member
}

// surgeReason names who holds the placement and is to give it up.
func (r *rollout) surgeReason(lim limits) string {
	var names []string
	holding := 0
	for _, s := range r.slots {
		switch {
		case s.bound() && !s.failed:
			holding++
		case s.entry != nil && s.binding == nil && !s.foreign && !s.failed && !s.unknown():
			holding++
			names = append(names, s.member)
		}
	}
	text := fmt.Sprintf("waits: %d %s the placement, %d picked and maxSurge %s allow %d",
		holding, phrase.Plural(holding, "member holds", "members hold"), lim.target, lim.surgeText, lim.target+lim.maxSurge)
	if len(names) == 0 {
		return text
	}
	return text + "; " + phrase.List(names, shownMembers) + phrase.Plural(len(names), " has", " have") + " not given it up yet"
}
