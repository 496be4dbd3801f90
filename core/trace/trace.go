package trace

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"flotilla/core/api"
)

// Of traces the last change of a placement.
func Of(in Input) api.Trace {
	w := newWay(&in)
	out := api.Trace{
		Placement: in.Placement.Key(), Now: micro(in.Now), KeptFrom: micro(in.KeptFrom), Change: w.change(), Members: []api.TracedMember{},
		Status: micro(w.ended()),
	}
	if in.Snapshot != nil && in.Snapshot.Error != "" {
		out.Notes = append(out.Notes, fmt.Sprintf("snapshot %d: its selectors could not be followed: %s", in.Snapshot.Index, in.Snapshot.Error))
	}
	for _, name := range w.names() {
		if in.Only == "" || in.Only == name {
			out.Members = append(out.Members, w.member(name))
		}
	}
	out.Total = len(out.Members)
	for i := range out.Members {
		if out.Members[i].Done {
			out.Done++
		}
	}
	slices.SortStableFunc(out.Members, slowest)
	out.Hops = summed(out.Members)
	return out
}

// slowest puts members first that took longer, or are on the way for longer.
func slowest(a, b api.TracedMember) int {
	return cmp.Or(cmp.Compare(elapsed(&b), elapsed(&a)), cmp.Compare(a.Member, b.Member))
}

func elapsed(m *api.TracedMember) int64 {
	if m.Done {
		return m.TookMs
	}
	return m.SinceMs
}

// way is an input with what follows from it for all members.
type way struct {
	*Input
	spec  cause
	cut   cause
	steps map[int64]time.Time // when the event of a step of the release was stored
	picks picks
}

// cause is what a change began with; its time is zero where there is none that is known.
type cause struct {
	at     time.Time
	latest bool
	by     string
	what   string
	// request is that of the person, so that what one request did is known to be one.
	request string
}

func newWay(in *Input) *way {
	w := &way{Input: in, steps: map[int64]time.Time{}}
	w.spec = cause{at: in.Stored.Spec, latest: true, what: fmt.Sprintf("generation %d of the spec", in.Placement.Generation)}
	born := in.Placement.CreationTimestamp.Time
	for i := range in.Past {
		e := &in.Past[i]
		switch {
		case e.Stored.Before(born): // of a former one of its name
		case e.Step != 0:
			w.steps[e.Step] = e.Stored
		case in.Snapshot != nil && e.Snapshot == in.Snapshot.Index && e.By == "door":
			w.cut.request = e.Request
		case e.Picks != nil:
			w.picks = append(w.picks, e)
		case e.Generation == in.Placement.Generation && e.By != "scheduler":
			w.spec.by, w.spec.request = e.By, e.Request
			w.spec.at = earliest(w.spec.at, e.Stored)
		}
	}
	if s := in.Snapshot; s != nil {
		w.cut.at, w.cut.by, w.cut.what = in.Stored.Snapshot, s.By, fmt.Sprintf("snapshot %d", s.Index)
		if w.cut.at.IsZero() {
			w.cut.at = s.Created.Time
		}
	}
	return w
}

// earliest is the earlier of two times, of which zero is none.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// change is what is on its way.
func (w *way) change() api.TracedChange {
	c := w.began(time.Time{})
	out := api.TracedChange{Generation: w.Placement.Generation, At: micro(c.at), By: c.by, What: c.what}
	if w.Snapshot != nil {
		out.Snapshot = w.Snapshot.Index
	}
	return out
}

// began is the newest cause of what was released to a member at a time; zero for what is not released.
func (w *way) began(released time.Time) cause {
	late := func(c cause) bool {
		return c.at.IsZero() || !released.IsZero() && c.at.After(released.Add(time.Second))
	}
	switch {
	case late(w.spec) && late(w.cut):
		return cause{}
	case late(w.spec):
		return w.cut
	case late(w.cut):
		return w.spec
	case w.together():
		both := w.cut
		both.at, both.latest = earliest(w.spec.at, w.cut.at), true
		return both
	case w.spec.at.After(w.cut.at):
		return w.spec
	}
	return w.cut
}

// together says that one request changed the spec and cut the snapshot.
func (w *way) together() bool { return w.cut.request != "" && w.cut.request == w.spec.request }

// names are the members that the placement goes to, or is to leave, sorted.
func (w *way) names() []string {
	var names []string
	if w.Schedule != nil {
		for i := range w.Schedule.Bindings {
			names = append(names, w.Schedule.Bindings[i].Member)
		}
	}
	if w.Release != nil {
		for i := range w.Release.Entries {
			if w.ours(&w.Release.Entries[i]) {
				names = append(names, w.Release.Entries[i].Member)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (w *way) ours(e *api.ReleaseEntry) bool { return e.UID == string(w.Placement.UID) }

// entry is that of a member in the release, nil when it has none.
func (w *way) entry(member string) *api.ReleaseEntry {
	if w.Release == nil {
		return nil
	}
	at, found := slices.BinarySearchFunc(w.Release.Entries, member, func(e api.ReleaseEntry, name string) int { return strings.Compare(e.Member, name) })
	if !found || !w.ours(&w.Release.Entries[at]) {
		return nil
	}
	return &w.Release.Entries[at]
}

func (w *way) bound(member string) bool {
	if w.Schedule == nil {
		return false
	}
	_, found := slices.BinarySearchFunc(w.Schedule.Bindings, member, func(b api.Binding, name string) int { return strings.Compare(b.Member, name) })
	return found
}

// completed is the reason of the event that tells that all members run a snapshot.
const completed = "PlacementRolloutCompleted"

// ended is when the status said first that all runs the snapshot; zero where it does not, or did in an event that is not
// kept.
func (w *way) ended() time.Time {
	for i := len(w.Past) - 1; i >= 0; i-- {
		e := &w.Past[i]
		if e.Reason == completed && w.Snapshot != nil && e.Snapshot == w.Snapshot.Index && !e.Stored.Before(w.cut.at) {
			return e.Stored
		}
	}
	return time.Time{}
}
