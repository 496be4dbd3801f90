package past

import (
	"slices"
	"strings"

	"flotilla/core/api"
)

// members are those that were picked: those of now without those that were picked since, and with those that were lost.
func (t *then) members() {
	there, doubt := t.rewound()
	if !t.counted() {
		return
	}
	sure := t.named()
	switch {
	case t.Picked == 0:
		there = nil
	case doubt:
		there = sure // of the others nobody knows whether they were picked before or since
	}
	if t.Picked > 0 {
		for member := range sure {
			if _, known := there[member]; !known {
				there[member] = api.PastPick{}
			}
		}
	}
	for member := range there {
		pick := sure[member]
		pick.Member = member
		pick.Until = there[member].Until
		t.Members = append(t.Members, pick)
	}
	slices.SortFunc(t.Members, func(a, b api.PastPick) int { return strings.Compare(a.Member, b.Member) })
	if t.Picked != len(t.Members) {
		t.lacks("members", "%d were picked and %d are known: events count members that they have no room to name, or one was lost", t.Picked, len(t.Members))
	}
	if len(t.Members) > mostMembers {
		t.lacks("members", "the first %d are listed", mostMembers)
		t.Members = t.Members[:mostMembers]
	}
}

// mostMembers bounds the members that a state lists, so that it fits into an answer.
const mostMembers = 2000

// rewound are the members as they follow from those of now; doubt says that members were picked since that are not named.
func (t *then) rewound() (there map[string]api.PastPick, doubt bool) {
	there = map[string]api.PastPick{}
	if t.Schedule != nil && !t.until && t.Input.Spec != nil && t.Schedule.UID == t.Input.Spec.UID {
		for i := range t.Schedule.Bindings {
			there[t.Schedule.Bindings[i].Member] = api.PastPick{}
		}
	}
	later := t.later()
	for i := len(later) - 1; i >= 0; i-- {
		e := &later[i]
		if e.Picks == nil {
			continue
		}
		for _, c := range e.Picks.Gained {
			doubt = doubt || len(c.Members) < c.Total
			for _, member := range c.Members {
				delete(there, member)
			}
		}
		for _, c := range e.Picks.Lost {
			for _, member := range c.Members {
				there[member] = api.PastPick{Until: seconds(e.Stored)}
			}
		}
	}
	return there, doubt
}

// counted finds how many members there were, and says whether that is known.
func (t *then) counted() bool {
	past, later := t.past(), t.later()
	for _, e := range slices.Backward(past) {
		if e.Picks != nil {
			t.Picked = e.Picks.Count
			return true
		}
	}
	if !t.kept() {
		t.lacks("picked", "%s", t.notKept())
		return false
	}
	for i := range later {
		if p := later[i].Picks; p != nil {
			t.Picked = p.Count - total(p.Gained) + total(p.Lost)
			return true
		}
	}
	if t.Schedule != nil && !t.until {
		t.Picked = len(t.Schedule.Bindings)
	}
	return true
}

func total(changes []api.PickChange) int {
	n := 0
	for _, c := range changes {
		n += c.Total
	}
	return n
}

// named are the members that events name as picked by then and not as lost, with when and why.
func (t *then) named() map[string]api.PastPick {
	there := map[string]api.PastPick{}
	for _, e := range t.past() {
		if e.Picks == nil {
			continue
		}
		for _, c := range e.Picks.Lost {
			for _, member := range c.Members {
				delete(there, member)
			}
			if len(c.Members) < c.Total { // any of those before may have gone
				clear(there)
			}
		}
		for _, c := range e.Picks.Gained {
			for _, member := range c.Members {
				pick := api.PastPick{Since: seconds(e.Stored), Reason: c.Reason}
				if e.Member == member && pick.Reason == "" {
					pick.Reason = e.Message
				}
				there[member] = pick
			}
		}
	}
	return there
}
