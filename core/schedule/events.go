package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"flotilla/core/api"
	"flotilla/core/phrase"
)

// Bounds of what an event names, so that it fits into what one may take: bytes of names in all, reasons, bytes of a
// reason, and members that its message names.
const (
	nameRoom     = 400
	mostReasons  = 4
	reasonRoom   = 60
	shownMembers = 3
)

// otherReasons is in the place of the reasons that there is no room for.
const otherReasons = "for other reasons"

// Events tell how a schedule differs from the one before: in one event which members came and went, and in another
// that enough were found, or no longer.
func Events(before, now *api.Schedule, removed []Removal) []api.Audit {
	event := func(reason, member, message string) api.Audit {
		return api.Audit{
			Object: api.AuditObject(api.AuditPlacement, now.Placement), Type: "Normal", Reason: reason, By: "scheduler",
			Member: member, Message: message, Generation: now.Generation,
		}
	}
	var told []api.Audit
	gained := came(before, now)
	picks := &api.Picks{Count: len(now.Bindings)}
	picks.Gained, picks.Lost = gainedBy(gained), lostBy(removed)
	boundNames(picks)
	switch {
	case len(gained) == 1 && len(removed) == 0:
		told = append(told, event("MemberPicked", gained[0].Member, gained[0].Reason))
	case len(gained) == 0 && len(removed) == 1:
		told = append(told, event("MemberRemoved", removed[0].Member, removed[0].Member+": "+removed[0].Reason))
	case len(gained)+len(removed) > 0:
		told = append(told, event("MembersChanged", "", changed(picks)))
	}
	for i := range told {
		told[i].Picks = picks
	}
	if before != nil && before.Fulfilled != now.Fulfilled || before == nil && !now.Fulfilled {
		e := event("SchedulingPolicyFulfilled", "", now.Message)
		if !now.Fulfilled {
			e.Type, e.Reason = "Warning", "SchedulingPolicyUnfulfilled"
		}
		told = append(told, e)
	}
	return told
}

// came are the bindings that were not there before.
func came(before, now *api.Schedule) []*api.Binding {
	had := map[string]bool{}
	if before != nil && before.UID == now.UID {
		for i := range before.Bindings {
			had[before.Bindings[i].Member] = true
		}
	}
	var gained []*api.Binding
	for i := range now.Bindings {
		if b := &now.Bindings[i]; !had[b.Member] {
			gained = append(gained, b)
		}
	}
	return gained
}

func gainedBy(gained []*api.Binding) []api.PickChange {
	if len(gained) == 0 {
		return nil
	}
	one := api.PickChange{Total: len(gained)}
	for _, b := range gained {
		one.Members = append(one.Members, b.Member)
	}
	return []api.PickChange{one}
}

// lostBy puts members that go for the same reason together.
func lostBy(removed []Removal) []api.PickChange {
	var all []api.PickChange
	for _, r := range removed {
		reason := shortReason(r.Reason)
		at := slices.IndexFunc(all, func(c api.PickChange) bool { return c.Reason == reason })
		if at < 0 && len(all) == mostReasons {
			at, all[mostReasons-1].Reason = mostReasons-1, otherReasons
		}
		if at < 0 {
			all, at = append(all, api.PickChange{Reason: reason}), len(all)
		}
		all[at].Members, all[at].Total = append(all[at].Members, r.Member), all[at].Total+1
	}
	slices.SortFunc(all, func(a, b api.PickChange) int { return cmp.Compare(a.Reason, b.Reason) })
	return all
}

func shortReason(reason string) string {
	if len(reason) <= reasonRoom {
		return reason
	}
	at := reasonRoom
	for !utf8.RuneStart(reason[at]) {
		at--
	}
	return reason[:at] + "…"
}

// boundNames leaves out names that there is no room for, and members of those that were lost last.
func boundNames(p *api.Picks) {
	room := nameRoom
	for _, changes := range [][]api.PickChange{p.Lost, p.Gained} {
		for i := range changes {
			c := &changes[i]
			for n, name := range c.Members {
				if room -= len(name) + len(`"",`); room < 0 {
					c.Members = c.Members[:n]
					break
				}
			}
		}
	}
}

// changed says in a sentence which members came and went.
func changed(p *api.Picks) string {
	var parts []string
	for _, c := range p.Gained {
		parts = append(parts, "picked "+named(c))
	}
	for _, c := range p.Lost {
		parts = append(parts, fmt.Sprintf("removed %s: %s", named(c), c.Reason))
	}
	return strings.Join(parts, "; ")
}

func named(c api.PickChange) string {
	if len(c.Members) == 0 {
		return phrase.Count(c.Total, "member")
	}
	return phrase.First(c.Members[:min(len(c.Members), shownMembers)], c.Total)
}
