package check

import (
	"fmt"
	"strings"
	"time"

	"flotilla/core/api"
	"flotilla/core/phrase"
	"flotilla/core/rollout"
)

// given is how the snapshot does on the members that have it.
type given struct {
	// any says that a member has it, heard that one is heard of; members are the latter.
	any, heard bool
	members    []string
	// highest is the highest generation in which one got it.
	highest int64
	// lacks says of the first member that is not available what it lacks; late, that it should be by now.
	lacks string
	late  bool
	// everywhere says that every member has it that is to have it and is heard of.
	everywhere bool
}

// shown is how many members a text names.
const shown = 3

// available says that what was given is available wherever somebody answers.
func (g *given) available() bool { return g.heard && g.lacks == "" }

func (g *given) on() string { return phrase.List(g.members, shown) }

// look finds out how the snapshot does.
func (f *follow) look() {
	f.given = given{everywhere: true}
	has := map[string]bool{}
	for i := range f.entries() {
		e := &f.in.Release.Entries[i]
		if !f.holds(e) {
			continue
		}
		f.given.any, f.given.highest, has[e.Member] = true, max(f.given.highest, e.Generation), true
		f.hear(e)
	}
	if f.in.Schedule == nil || f.in.Schedule.UID != string(f.in.Placement.UID) {
		f.given.everywhere = false
		return
	}
	for i := range f.in.Schedule.Bindings {
		b := &f.in.Schedule.Bindings[i]
		_, view := f.in.Known(b.Member)
		if !b.Waiting && !has[b.Member] && !away(view) {
			f.given.everywhere = false
		}
	}
}

func (f *follow) entries() []api.ReleaseEntry {
	if f.in.Release == nil {
		return nil
	}
	return f.in.Release.Entries
}

// holds says that an entry lets its member have the snapshot.
func (f *follow) holds(e *api.ReleaseEntry) bool {
	return e.UID == f.in.Latest.UID && e.Snapshot == f.in.Latest.Index && !e.Withdrawn
}

// away says that a member is not waited for.
func away(view rollout.MemberView) bool {
	return view.Gone || view.Leaving || view.State == api.MemberUnknown
}

// hear takes in what a member says that has the snapshot.
func (f *follow) hear(e *api.ReleaseEntry) {
	g := &f.given
	result, view := f.in.Known(e.Member)
	if away(view) {
		return
	}
	g.heard, g.members = true, append(g.members, e.Member)
	ready, lacks := f.ready(e, result)
	if ready {
		return
	}
	late := e.Since.Add(f.within())
	f.recheck(late)
	overdue := !f.in.Now.Before(late)
	if g.lacks == "" || overdue && !g.late {
		g.lacks, g.late = e.Member+": "+lacks, overdue
	}
}

// ready says whether what a member was given is available there, and what it lacks.
func (f *follow) ready(e *api.ReleaseEntry, result *api.PlacementResult) (ready bool, lacks string) {
	if result == nil || result.UID != e.UID || result.Generation != e.Generation || result.Withdrawn {
		return false, "has not answered yet"
	}
	period := rollout.UnavailablePeriod(f.in.Placement.Spec.Strategy.RollingUpdate)
	ready, at := rollout.Available(result, e.Since.Time, period, f.in.Now)
	f.recheck(at)
	return ready, lacking(result)
}

func (f *follow) within() time.Duration {
	if f.in.Check == nil {
		return api.DefaultCheckWithin
	}
	return f.in.Check.Spec.WithinTime()
}

// lacking says what keeps a snapshot from being available, as its member tells it.
func lacking(r *api.PlacementResult) string {
	if len(r.Failures) > 0 {
		fault := &r.Failures[0]
		if fault.Message != "" {
			return fmt.Sprintf("%s: %s", fault, fault.Message)
		}
		return fmt.Sprintf("%s: %s", fault, fault.Reason)
	}
	for _, text := range []string{r.AppliedMessage, r.AvailableMessage} {
		if text != "" {
			return text
		}
	}
	return "is not available yet"
}

// maxMessage is how long a text in a record or an event may be, in bytes.
const maxMessage = 400

func cut(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage], "") + " …"
}
