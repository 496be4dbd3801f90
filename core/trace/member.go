package trace

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
)

// journey is the way to one member.
type journey struct {
	*way
	name  string
	known Known
	entry *api.ReleaseEntry
	// leaves says that the member is to give the placement up, current that it was released what is to run now.
	leaves, current bool
	released        mark
	began           cause
	marks           []mark
	clock           *api.AgentClock
}

// member is how the change came to a member.
func (w *way) member(name string) api.TracedMember {
	j := &journey{way: w, name: name, known: w.Member(name), entry: w.entry(name)}
	j.leaves = j.entry != nil && (j.entry.Withdrawn || !w.bound(name))
	j.current = j.entry != nil && (j.entry.Withdrawn || !j.leaves && w.Snapshot != nil && j.entry.Snapshot == w.Snapshot.Index)
	released := time.Time{}
	if j.current {
		j.released = j.release()
		released = j.released.at
	}
	j.began = w.began(released)
	j.decided()
	if w.Placement.External() && !j.leaves {
		j.staged()
	}
	j.given()
	return j.told()
}

// told is the journey as people read it.
func (j *journey) told() api.TracedMember {
	out := api.TracedMember{Member: j.name, Leaves: j.leaves, Hops: lay(j.marks), Clock: j.clock}
	var began, ended time.Time
	out.Done = true
	for i := range out.Hops {
		h := &out.Hops[i]
		switch h.State {
		case api.HopDone:
			if began.IsZero() {
				began = h.At.Time
			}
			ended = h.At.Time
		case api.HopWaits, api.HopPending:
			out.Done = false
		}
	}
	if !began.IsZero() {
		out.TookMs, out.SinceMs = ended.Sub(began).Milliseconds(), max(0, j.Now.Sub(began).Milliseconds())
	}
	return out
}

func (j *journey) add(m ...mark) { j.marks = append(j.marks, m...) }

// decided are the hops up to the schedule. Of a member that leaves that is the first one: what made it leave is its reason.
func (j *journey) decided() {
	picked, reason, known, doubt := j.picks.of(j.name, !j.leaves)
	if !j.leaves {
		j.applied(known && j.another(picked))
	}
	verb := "picked"
	if j.leaves {
		verb = "no longer picked"
	}
	if reason != "" {
		verb += ": " + reason
	}
	switch {
	case !j.leaves && (j.Schedule == nil || j.Schedule.Generation < j.Placement.Generation):
		j.add(waits(api.HopSchedule, fmt.Sprintf("the scheduler has not decided on generation %d", j.Placement.Generation)))
	case known && picked.Before(j.began.at):
		j.add(before(api.HopSchedule, picked, verb))
	case known:
		j.add(latest(api.HopSchedule, picked, verb))
	case doubt != nil:
		j.add(unknown(api.HopSchedule, fmt.Sprintf("%s; the event of %s counts members that it does not name", verb, shown(doubt.Stored))))
	default:
		j.add(unknown(api.HopSchedule, verb+"; "+j.notKept()))
	}
	j.rendered()
}

// another says that a decision was about something else than the change: others were made of that before.
func (j *journey) another(picked time.Time) bool {
	return slices.ContainsFunc(j.picks, func(e *api.Told) bool { return e.Stored.After(j.began.at) && e.Stored.Before(picked) }) ||
		slices.ContainsFunc(j.Past, func(e api.Told) bool {
			return e.Reason == completed && e.Stored.After(j.began.at) && e.Stored.Before(picked)
		})
}

// applied are the hops of what a person did; earlier says that it was before what the way begins with.
func (j *journey) applied(earlier bool) {
	began := j.began
	note := began.what + by(began.by)
	switch {
	case began.at.IsZero():
		j.add(unknown(api.HopApply, j.notKept()))
	case earlier:
		j.add(before(api.HopApply, began.at, note))
	case began.latest:
		j.add(latest(api.HopApply, began.at, note))
	default:
		j.add(done(api.HopApply, began.at, note))
	}
	s := j.Snapshot
	if s == nil {
		j.add(waits(api.HopSnapshot, "nothing was selected yet"))
		return
	}
	switch note := fmt.Sprintf("snapshot %d", s.Index); {
	case s.Error != "":
		j.add(waits(api.HopSnapshot, note+": the selectors could not be followed: "+s.Error))
	case earlier || j.cut.at.Before(began.at):
		j.add(before(api.HopSnapshot, j.cut.at, note))
	default:
		j.add(done(api.HopSnapshot, j.cut.at, note))
	}
}

// rendered is the hop of overrides, where some change what the member gets.
func (j *journey) rendered() {
	r := j.Rendered
	if j.leaves || r == nil || j.Snapshot == nil || r.UID != string(j.Placement.UID) || len(r.Overrides) == 0 && (j.entry == nil || len(j.entry.Overrides) == 0) {
		return
	}
	note := "overrides: " + overridesIn(r.Overrides)
	switch at := j.Stored.Rendered; {
	case r.Snapshot != j.Snapshot.Index && !j.current:
		j.add(waits(api.HopRender, fmt.Sprintf("overrides are not followed yet in snapshot %d", j.Snapshot.Index)))
	case j.current && at.After(j.released.at):
		j.add(unknown(api.HopRender, note+"; followed anew since"))
	case at.Before(j.began.at):
		j.add(before(api.HopRender, at, note))
	default:
		j.add(latest(api.HopRender, at, note))
	}
}

// notKept says from when on events are kept.
func (j *journey) notKept() string {
	if j.KeptFrom.IsZero() {
		return "no event of it is kept"
	}
	return "no event of it is kept; events are from " + shown(j.KeptFrom) + " on"
}

// release is when what the member was given was released.
func (j *journey) release() mark {
	e := j.entry
	at := j.steps[e.Generation]
	if j.Release.Step == e.Generation {
		at = earliest(at, j.Stored.Release)
	}
	note := fmt.Sprintf("snapshot %d", e.Snapshot)
	if e.Withdrawn {
		note = "withdrawn"
	}
	if since := e.Since.Time; at.IsZero() || at.Before(since) {
		return second(api.HopRelease, since, note)
	}
	return latest(api.HopRelease, at, note)
}

// given are the hops from the release on.
func (j *journey) given() {
	if !j.current {
		j.add(waits(api.HopRelease, j.held()))
		j.add(pending(api.HopCommand, api.HopReceived, api.HopApplied)...)
		j.finish()
		return
	}
	j.add(j.released)
	j.answered()
}

// finish are the last hops, which nobody has come to.
func (j *journey) finish() {
	if !j.leaves && !j.compares() {
		j.add(pending(api.HopAvailable)...)
	}
	j.add(pending(api.HopReported)...)
	j.clock = clockOf(&j.known, nil, time.Time{}, time.Time{})
}

func pending(hops ...string) []mark {
	marks := make([]mark, len(hops))
	for i, hop := range hops {
		marks[i] = mark{hop: hop, state: api.HopPending}
	}
	return marks
}

// held is why nothing is released to the member.
func (j *journey) held() string {
	if pause := api.PauseOf(j.Placement.Annotations); pause != nil {
		return pause.String()
	}
	if j.Release != nil {
		at := slices.IndexFunc(j.Release.Held, func(h api.Held) bool { return h.Member == j.name })
		if at >= 0 {
			return j.Release.Held[at].Reason
		}
	}
	if j.known.Waits != "" {
		return j.known.Waits
	}
	return "the roller has not decided yet"
}

// compares says that the agent writes nothing and tells what differs.
func (j *journey) compares() bool {
	return j.entry != nil && j.entry.Apply != nil && j.entry.Apply.Type == api.ApplyReportDiff
}

func by(name string) string {
	if name == "" {
		return ""
	}
	return ", by " + name
}

func shown(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func overridesIn(all []api.OverrideVersion) string {
	if len(all) == 0 {
		return "none any more"
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return strings.Join(names[:min(len(names), 3)], ", ")
}
