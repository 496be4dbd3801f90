package rollup

import (
	"fmt"
	"time"

	"flotilla/core/api"
	"flotilla/core/guard"
	"flotilla/core/phrase"
)

// Placement is what is known of one that selects content. Nothing in it is changed.
type Placement struct {
	Placement *api.Placement
	// Schedule, Release and Latest, the newest snapshot, are nil while they do not exist; those of another uid are ignored.
	Schedule *api.Schedule
	Release  *api.Release
	Latest   *api.Snapshot
	// Snapshot is the one of an index, nil where it is not kept.
	Snapshot func(index int64) *api.Snapshot
	// Heard is the newest result of a member about the placement, nil when there is none, and how the member does.
	Heard func(member string) (*api.PlacementResult, api.MemberState)
	// Frozen is what keeps the members of every placement from moving, nil where nothing does.
	Frozen *api.Freeze
}

// Standing is how the members of a placement stand, whichever object is asked for.
type Standing struct {
	members []member
	// held are the objects of each snapshot that members have, the newest first; it is that alone while they have none.
	held   []map[identity]string
	pinned bool
	// whole is what is to be said of the placement as a whole; missing is how many members it lacks.
	whole   *sight
	missing int
}

// member is one that a placement is bound to.
type member struct {
	name string
	// snapshot is the place of what it has in Standing.held, -1 where it has nothing.
	snapshot int
	said     said
	// late is what is known of an object that it has not as it was applied last.
	late sight
}

// Gather folds what is known of a placement.
func Gather(p Placement) *Standing {
	g := gathering{Placement: p, standing: &Standing{pinned: p.Latest.Pinned()}, at: map[int64]int{}, holds: map[string]*api.Held{}}
	g.place(p.Latest)
	g.whole()
	if !g.scheduled() {
		return g.standing
	}
	g.release()
	for i := range p.Schedule.Bindings {
		if b := &p.Schedule.Bindings[i]; !b.Waiting {
			g.standing.members = append(g.standing.members, g.member(b.Member))
		}
	}
	return g.standing
}

// gathering is one run of Gather.
type gathering struct {
	Placement
	standing *Standing
	at       map[int64]int // of snapshots in Standing.held
	entries  map[string]*api.ReleaseEntry
	holds    map[string]*api.Held
}

func (g *gathering) uid() string { return string(g.Placement.Placement.UID) }

func (g *gathering) scheduled() bool { return g.Schedule != nil && g.Schedule.UID == g.uid() }

// place notes what a snapshot holds, and where that is.
func (g *gathering) place(s *api.Snapshot) int {
	if s == nil {
		return -1
	}
	at, known := g.at[s.Index]
	if !known {
		holds := make(map[identity]string, len(s.Manifests))
		for i := range s.Manifests {
			if m := &s.Manifests[i]; m.Envelope == "" {
				holds[identityOf(&m.ObjectRef)] = m.Digest
			}
		}
		at = len(g.standing.held)
		g.at[s.Index], g.standing.held = at, append(g.standing.held, holds)
	}
	return at
}

// whole says what is to be said of the placement before any member is asked.
func (g *gathering) whole() {
	decided := g.scheduled() && g.Schedule.Generation >= g.Placement.Placement.Generation
	switch {
	case decided && g.Schedule.Fulfilled && len(g.Schedule.Bindings) > 0:
	case g.Frozen != nil:
		frozen := g.frozen()
		g.standing.whole = &frozen
	case !decided:
		g.standing.whole = &sight{reason: reasonUnscheduled, message: undecided}
	default:
		g.standing.whole = &sight{reason: reasonUnscheduled, message: g.Schedule.Message}
		if g.Schedule.Want != nil {
			g.standing.missing = max(0, int(*g.Schedule.Want)-len(g.Schedule.Bindings))
		}
	}
}

// frozen is what is said of what the freeze of all placements keeps.
func (g *gathering) frozen() sight {
	return sight{reason: ReasonFrozen, message: "waits: " + guard.Waits(g.Frozen), guarded: true}
}

// release notes what of the placement is released, and what is held.
func (g *gathering) release() {
	g.entries = map[string]*api.ReleaseEntry{}
	if g.Release == nil {
		return
	}
	for i := range g.Release.Entries {
		if e := &g.Release.Entries[i]; e.UID == g.uid() && !e.Withdrawn {
			g.entries[e.Member] = e
		}
	}
	bound := map[string]bool{}
	for i := range g.Schedule.Bindings {
		bound[g.Schedule.Bindings[i].Member] = true
	}
	leaving, why := 0, ""
	for i := range g.Release.Held {
		h := &g.Release.Held[i]
		g.holds[h.Member] = h
		if h.Loss.Whole && !bound[h.Member] {
			leaving, why = leaving+1, h.Reason
		}
	}
	if leaving > 0 && g.standing.whole == nil {
		g.standing.whole = &sight{
			reason: api.ReasonWithdrawalHeld, guarded: true, message: fmt.Sprintf("%s would lose it; %s", phrase.Count(leaving, "member"), why),
		}
	}
}

// member is what is known of a member that the placement is bound to.
func (g *gathering) member(name string) member {
	m := member{name: name, snapshot: -1, late: sight{reason: reasonWaiting, message: notReleased}}
	if g.Frozen != nil {
		m.late = g.frozen()
	}
	entry := g.entries[name]
	var since time.Time
	if entry != nil {
		since = entry.Since.Time
		m.snapshot = g.snapshot(entry.Snapshot)
	}
	m.late.since = since
	result, state := g.Heard(name)
	switch {
	case state == api.MemberUnknown:
		m.said.rest = sight{reason: reasonNoHeartbeat, message: noHeartbeat, since: since}
	case entry == nil, result == nil, result.UID != g.uid(), result.Withdrawn, result.Generation != entry.Generation:
		m.said.rest = sight{reason: reasonUnanswered, message: notAnswered, since: since}
	default:
		m.said = read(result)
	}
	g.hold(&m)
	return m
}

// snapshot is where the one of an index is, -1 where it is not kept.
func (g *gathering) snapshot(index int64) int {
	if at, known := g.at[index]; known {
		return at
	}
	s := g.Snapshot(index)
	if s == nil || s.UID != g.uid() {
		return -1
	}
	return g.place(s)
}

// hold says why a member does not get what was applied last.
func (g *gathering) hold(m *member) {
	h := g.holds[m.name]
	switch {
	case h == nil:
	case h.Overridden:
		m.late.stand, m.late.reason, m.late.message = failed, reasonOverridden, h.Reason
		m.said = said{rest: m.late}
	case h.Guarded && h.Loss != (api.Loss{}):
		m.late.reason, m.late.message, m.late.guarded = api.ReasonWithdrawalHeld, h.Reason, true
	case h.Guarded:
		m.late.reason, m.late.message, m.late.guarded = ReasonFrozen, h.Reason, true
	default:
		m.late.message = h.Reason
	}
}

// Selects says whether the newest snapshot of the placement has an object of that name on the hub.
func (s *Standing) Selects(ref *api.ObjectRef) bool {
	if len(s.held) == 0 {
		return false
	}
	_, found := s.held[0][identityOf(ref)]
	return found
}
