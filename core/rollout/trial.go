package rollout

import (
	"fmt"

	"flotilla/core/api"
	"flotilla/core/phrase"
)

// Checks are what a snapshot goes out under.
type Checks struct {
	// Name is that of the RolloutCheck, empty for none.
	Name string
	// Record is what became of it, nil while nobody has looked.
	Record *api.CheckRecord
}

// trial is how the newest snapshot does under its checks.
type trial struct {
	// governs says that members which are given it remember what they had.
	governs bool
	// limited says that no more are given it at once than may be unavailable, and nobody of whom nothing is heard.
	limited bool
	// hold is why no further member may have it, empty where some may.
	hold string
	// refused says that it failed; back, that members go back from it.
	refused, back bool
}

// try finds how the newest snapshot does, and forgets what members had before one that passed.
func (r *rollout) try() {
	record := r.checked()
	switch {
	case r.latest == nil:
	case record.Refuses(r.latest.UID, r.latest.Index):
		r.trial = trial{governs: true, refused: true, hold: "waits: " + record.Refused.String(), back: record.Phase == api.CheckRollingBack}
	case r.latest.Undo != nil, r.in.Checks.Name == "":
		r.settleTrial(!r.in.Placement.External())
	case record == nil:
		r.trial = trial{governs: true, hold: "waits: rollout check " + r.in.Checks.Name + " has not been looked at yet"}
	case record.Snapshot == r.latest.Index && (record.Phase == api.CheckPassed || record.Phase == api.CheckExempt):
		r.settleTrial(true)
	default:
		r.trial = trial{governs: true, limited: true}
		if given, highest := r.given(); len(given) > 0 && !r.soaked(record, highest) {
			r.trial = trial{governs: true, hold: r.soakReason(record, given)}
		}
	}
}

// checked is the record of the placement as it is.
func (r *rollout) checked() *api.CheckRecord {
	if record := r.in.Checks.Record; record != nil && record.UID == string(r.in.Placement.UID) {
		return record
	}
	return nil
}

// settleTrial lets members that have the newest snapshot stay with it.
func (r *rollout) settleTrial(over bool) {
	for _, s := range r.slots {
		if over && s.live() && s.entry.Snapshot == r.latest.Index {
			s.entry.Earlier = nil
		}
	}
}

// given are the members that have the newest snapshot, and the highest generation in which one got it.
func (r *rollout) given() (members []string, highest int64) {
	for _, s := range r.slots {
		if s.live() && s.entry.Snapshot == r.latest.Index {
			members, highest = append(members, s.member), max(highest, s.entry.Generation)
			if s.entry.Generation == 0 {
				highest = r.step + 1
			}
		}
	}
	return members, highest
}

// soaked says that checks held for long enough on all that is given.
func (r *rollout) soaked(record *api.CheckRecord, highest int64) bool {
	return record.Snapshot == r.latest.Index && record.Soaked && record.Given >= highest
}

func (r *rollout) soakReason(record *api.CheckRecord, given []string) string {
	soak := api.DefaultCheckSoak
	if record.Soak != nil {
		soak = record.Soak.Duration
	}
	return fmt.Sprintf("waits: checks of snapshot %d must hold for %s on %s first", r.latest.Index, phrase.Span(soak), phrase.List(given, shownMembers))
}

// closeTrial holds everybody else once members were given a snapshot whose checks are to hold there first.
func (r *rollout) closeTrial() {
	if !r.trial.limited || len(r.out.Advance) == 0 {
		return
	}
	given, _ := r.given()
	r.trial = trial{governs: true, hold: r.soakReason(r.checked(), given)}
	for _, s := range r.slots {
		if s.joining() || s.bound() && r.stale(s) {
			s.held = r.stuck(s)
		}
	}
}

// tooSoon says that a member may not be given the newest snapshot in this step: so many were, or nobody hears of it.
func (r *rollout) tooSoon(s *slot) bool {
	if !r.trial.limited || r.in.Placement.External() {
		return false
	}
	switch most := r.atOnce(); {
	case s.unknown():
		s.held = fmt.Sprintf("waits: nobody hears of it; snapshot %d goes to members that answer until its checks have passed", r.latest.Index)
	case len(r.out.Advance) >= most:
		s.held = fmt.Sprintf("waits: snapshot %d goes to %s at once, and its checks must hold there first", r.latest.Index, phrase.Count(most, "member"))
	default:
		return false
	}
	return true
}

// atOnce is how many members move at once under checks: those that may be unavailable, one at least.
func (r *rollout) atOnce() int { return max(r.limits().maxUnavailable, 1) }

// remember is what a member goes back to if the newest snapshot fails: what it has, where that was proven or is
// available there, else what it would have gone back to before.
func (r *rollout) remember(s *slot) *api.Earlier {
	e := s.entry
	switch {
	case !r.trial.governs:
		return nil
	case e == nil || e.Withdrawn || s.foreign:
		return &api.Earlier{}
	case e.Snapshot == r.latest.Index, e.Earlier != nil && (!s.ready || r.checked().Refuses(e.UID, e.Snapshot)):
		return e.Earlier
	}
	return &api.Earlier{Snapshot: e.Snapshot, Work: e.Work, Overrides: e.Overrides}
}
