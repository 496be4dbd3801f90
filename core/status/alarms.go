package status

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"flotilla/core/api"
	"flotilla/core/phrase"
)

// Reasons of alarms: the events that tell of members in trouble.
const (
	AlarmApplyFailed = reasonApplyFailed
	AlarmDrifted     = "DriftFound"
	AlarmCorrected   = "DriftCorrected"
	AlarmFought      = "DriftFought"
	AlarmUnconfirmed = "WithdrawalUnconfirmed"
)

// quiet is how long after an alarm further members of the same trouble are gathered before they are told
// of: however many fail, and however often, a placement tells of a trouble once a minute.
const quiet = time.Minute

// trouble is one member that an alarm is about.
type trouble struct {
	member string
	text   func() string
}

// alarms are the kinds of trouble with the members in each of them that were told of, or are to be told
// of now. A kind that came up once stays, so that the next one keeps its distance.
func (e *evaluation) alarms() []api.Alarm {
	var out []api.Alarm
	for _, reason := range []string{AlarmApplyFailed, AlarmDrifted, AlarmCorrected, AlarmFought, AlarmUnconfirmed} {
		if a := e.alarm(reason, e.troubled(reason)); a != nil {
			out = append(out, *a)
		}
	}
	return out
}

func (e *evaluation) lastAlarm(reason string) api.Alarm {
	if before := alarmOf(e.previous, reason); before != nil {
		return *before
	}
	return api.Alarm{Reason: reason}
}

func (e *evaluation) alarm(reason string, now []trouble) *api.Alarm {
	a := e.lastAlarm(reason)
	if a.At.IsZero() && len(now) == 0 {
		return nil
	}
	var kept []string
	var fresh []trouble
	for _, t := range now {
		if told(&a, t.member) {
			kept = append(kept, t.member)
		} else {
			fresh = append(fresh, t)
		}
	}
	if len(fresh) == 0 || e.in.Now.Before(a.At.Add(quiet)) {
		a.Members = kept
		return &a
	}
	next := api.Alarm{Reason: reason, At: e.seconds(e.in.Now), Message: alarmText(fresh)}
	if len(fresh) == 1 {
		next.About = fresh[0].member
	}
	for _, t := range now {
		next.Members = append(next.Members, t.member)
	}
	return &next
}

// alarmText names the first member with its trouble, and the others.
func alarmText(fresh []trouble) string {
	text := fresh[0].member + ": " + fresh[0].text()
	if len(fresh) == 1 {
		return text
	}
	names := make([]string, len(fresh))
	for i := range fresh {
		names[i] = fresh[i].member
	}
	return fmt.Sprintf("%d members: %s; first %s", len(fresh), phrase.List(names, shownNames), text)
}

// troubled are the members in one kind of trouble, sorted.
func (e *evaluation) troubled(reason string) []trouble {
	if reason == AlarmUnconfirmed {
		return e.unconfirmed()
	}
	kind := troubles[reason]
	if e.tally[kind.counted] == 0 {
		return nil
	}
	var out []trouble
	for i := range e.views {
		if v := &e.views[i]; kind.is(v) {
			out = append(out, trouble{v.member, func() string { return kind.text(e, v) }})
		}
	}
	return out
}

// troubles are the kinds of trouble of members that hold the placement, by the reasons of their alarms.
var troubles = map[string]struct {
	counted int // in a tally
	is      func(*view) bool
	text    func(*evaluation, *view) string
}{
	AlarmDrifted: {isDrifted, (*view).drifted, func(_ *evaluation, v *view) string {
		return objectText(&v.result.Failures[slices.IndexFunc(v.result.Failures, drift)])
	}},
	AlarmCorrected: {isCorrected, (*view).corrected, func(_ *evaluation, v *view) string { return correctedText(v.last) }},
	AlarmFought:    {isFought, (*view).fought, func(_ *evaluation, v *view) string { return correctedText(v.last) }},
	AlarmApplyFailed: {isTroubled, (*view).otherFailure, func(e *evaluation, v *view) string {
		var h api.HeldUp
		e.trouble(&h, v.result)
		return h.Message
	}},
}

// correctedText says of the first object where it had been changed, and how many there are.
func correctedText(r *api.PlacementResult) string {
	switch {
	case len(r.Corrected) > 0:
	case r.CorrectedTotal == 1:
		return "1 object was changed on the member and written over"
	default:
		return fmt.Sprintf("%d objects were changed on the member and written over", r.CorrectedTotal)
	}
	first := &r.Corrected[max(0, slices.IndexFunc(r.Corrected, func(c api.Correction) bool { return c.Fought }))]
	text := fmt.Sprintf("%s was changed on the member at %s and written over", nameText(first.ObjectRef), oneLine(first.Fields))
	if first.Fought {
		text += " five times within ten minutes, from now on once a minute: somebody there wants it otherwise"
	}
	switch more := r.CorrectedTotal - 1; more {
	case 0:
		return text
	case 1:
		return text + "; so was 1 other object"
	default:
		return text + fmt.Sprintf("; so were %d other objects", more)
	}
}

func (e *evaluation) unconfirmed() []trouble {
	var out []trouble
	for _, w := range e.withdrawals() {
		if e.in.Now.Before(w.Since.Add(api.ConfirmWithin)) {
			continue
		}
		out = append(out, trouble{w.ClusterName, func() string { return unconfirmedText(&w) }})
	}
	slices.SortFunc(out, func(a, b trouble) int { return cmp.Compare(a.member, b.member) })
	return out
}

func unconfirmedText(w *api.Withdrawal) string {
	text := "withdrawn at " + w.Since.UTC().Format(time.RFC3339) + " and not confirmed"
	if w.State != "" && w.State != api.MemberReady {
		text += ", the member is " + string(w.State)
	}
	if w.Message != "" {
		text += ": " + w.Message
	}
	return text
}

// recheck is when time alone changes what st says; zero when only news can.
func (e *evaluation) recheck(st *api.PlacementStatus) time.Time {
	var next time.Time
	sooner := func(t time.Time) {
		if t.After(e.in.Now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	if st.Rollout != nil && st.Rollout.Deadline != nil {
		sooner(st.Rollout.Deadline.Time)
		if !e.in.Now.Before(st.Rollout.Deadline.Time) {
			sooner(e.in.JudgeFrom)
		}
	}
	for i := 0; i < len(e.views) && e.tally[isTimed] > 0; i++ {
		sooner(e.views[i].readyAt)
	}
	for _, w := range st.Withdrawals {
		sooner(w.Since.Add(api.ConfirmWithin))
	}
	for i := range st.Alarms {
		a := &st.Alarms[i]
		if slices.ContainsFunc(e.troubled(a.Reason), func(t trouble) bool { return !told(a, t.member) }) {
			sooner(a.At.Add(quiet))
		}
	}
	return next
}

func told(a *api.Alarm, member string) bool {
	_, found := slices.BinarySearch(a.Members, member)
	return found
}

// alarmEvents tell what is new among the alarms of two records.
func alarmEvents(previous *api.PlacementStatus, current *api.PlacementStatus, tell func(kind, reason, message, member string)) {
	for i := range current.Alarms {
		a := &current.Alarms[i]
		if before := alarmOf(previous, a.Reason); before == nil || !before.At.Equal(&a.At) {
			tell("Warning", a.Reason, a.Message, a.About)
		}
	}
}

func alarmOf(st *api.PlacementStatus, reason string) *api.Alarm {
	if st == nil {
		return nil
	}
	for i := range st.Alarms {
		if st.Alarms[i].Reason == reason {
			return &st.Alarms[i]
		}
	}
	return nil
}
