package check

import (
	"fmt"

	"flotilla/core/api"
	"flotilla/core/phrase"
)

// goBack watches members go back from a snapshot that was refused: until all have, or one cannot.
func (f *follow) goBack() {
	if f.record.Phase != api.CheckRollingBack {
		return
	}
	if f.in.Halted != "" {
		f.record.Message = "nobody goes back: " + f.in.Halted
		return
	}
	left, way := f.leftToGo()
	stuck := f.stuck()
	switch {
	case stuck != "":
		f.enter(api.CheckRollBackFailed, "%s", cut("the roll-back stopped, "+stuck))
		f.tell("Warning", EventRollBackFailed, "from snapshot %d: %s", f.record.Snapshot, f.record.Message)
	case left+way == 0:
		f.enter(api.CheckRolledBack, "every member that had snapshot %d has what it had before", f.record.Snapshot)
		f.tell("Warning", EventRolledBack, "from snapshot %d: %s", f.record.Snapshot, f.record.Message)
	default:
		f.record.Message = fmt.Sprintf("%s still to go back, %d on the way", phrase.Count(left, "member"), way)
	}
}

// leftToGo counts the members that are still to go back, and those that do.
func (f *follow) leftToGo() (left, way int) {
	bound := map[string]bool{}
	if f.in.Schedule != nil {
		for i := range f.in.Schedule.Bindings {
			bound[f.in.Schedule.Bindings[i].Member] = true
		}
	}
	for i := range f.entries() {
		e := &f.in.Release.Entries[i]
		result, view := f.in.Known(e.Member)
		switch {
		case f.holds(e) && e.Earlier != nil && bound[e.Member] && !view.Gone && !view.Leaving:
			left++
		case !f.wentBack(e) || away(view):
		case e.Withdrawn:
			way++
		default:
			if ready, _ := f.ready(e, result); !ready {
				way++
			}
		}
	}
	return left, way
}

// wentBack says that a member was taken back from the snapshot.
func (f *follow) wentBack(e *api.ReleaseEntry) bool {
	return e.UID == f.in.Latest.UID && e.RolledBack == f.record.Snapshot
}

// stuck says which member went back and is not there after the time that it may take; empty while none is.
func (f *follow) stuck() string {
	for i := range f.entries() {
		e := &f.in.Release.Entries[i]
		result, view := f.in.Known(e.Member)
		if !f.wentBack(e) || away(view) {
			continue
		}
		ready, lacks := f.ready(e, result)
		if ready && !e.Withdrawn {
			continue
		}
		late := e.Since.Add(f.within())
		f.recheck(late)
		switch {
		case f.in.Now.Before(late):
		case e.Withdrawn:
			return fmt.Sprintf("for %s has not confirmed within %s that it gave the placement up", e.Member, phrase.Span(f.within()))
		default:
			return fmt.Sprintf("for %s is not available on snapshot %d within %s: %s", e.Member, e.Snapshot, phrase.Span(f.within()), lacks)
		}
	}
	return ""
}
