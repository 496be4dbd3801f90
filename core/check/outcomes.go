package check

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/phrase"
)

// check takes in what was answered about a snapshot that goes out, and asks what is due.
func (f *follow) check() {
	f.look()
	r := f.record
	switch {
	case f.in.Check == nil:
		f.rest("waits: there is no rollout check " + f.in.Name)
		return
	case f.in.Halted != "":
		f.rest("nothing is asked: " + f.in.Halted)
		return
	case f.in.Placement.External() && !f.in.Running:
		f.rest("nothing is asked: no staged run is under way")
		return
	case !f.given.any:
		f.rest(fmt.Sprintf("waits for a member to be given snapshot %d", r.Snapshot))
		return
	}
	f.lay()
	f.takeAvailability()
	for i := range f.in.Answers {
		f.take(&f.in.Answers[i])
	}
	if f.refuse() {
		return
	}
	f.soak()
	if r.Soaked && f.given.everywhere {
		f.enter(api.CheckPassed, "all checks held for %s on every member", phrase.Span(f.in.Check.Spec.SoakTime()))
		f.tell("Normal", EventPassed, "snapshot %d passed rollout check %s on every member", r.Snapshot, r.Check)
		return
	}
	f.ask()
	r.Message = f.message()
}

// rest forgets what was answered: it is asked anew once the rollout goes on.
func (f *follow) rest(why string) {
	r := f.record
	r.Outcomes, r.Holds, r.Soaked, r.Message, r.Given = nil, metav1.Time{}, false, why, 0
}

// lay has one outcome a check. What was given since, or a check that changed, begins all of them anew.
func (f *follow) lay() {
	r, spec := f.record, &f.in.Check.Spec
	r.Soak = &metav1.Duration{Duration: spec.SoakTime()}
	if r.Given == f.given.highest && r.CheckGeneration == f.in.Check.Generation && len(r.Outcomes) == len(spec.Checks) {
		return
	}
	r.Given, r.CheckGeneration, r.Holds, r.Soaked = f.given.highest, f.in.Check.Generation, metav1.Time{}, false
	r.Outcomes = make([]api.CheckOutcome, len(spec.Checks))
	for i := range spec.Checks {
		r.Outcomes[i] = api.CheckOutcome{Name: spec.Checks[i].Name, Verdict: api.VerdictWaiting, Since: f.stamp()}
	}
}

// takeAvailability judges availability, which nobody needs to be asked about.
func (f *follow) takeAvailability() {
	spec := &f.in.Check.Spec
	i := slices.IndexFunc(spec.Checks, func(c api.Check) bool { return c.Availability != nil })
	if i < 0 {
		return
	}
	o := &f.record.Outcomes[i]
	switch {
	case f.given.available():
		f.put(o, api.VerdictPassed, "available on "+f.given.on())
	case !f.given.heard:
		f.put(o, api.VerdictWaiting, "nobody hears of the members that have it")
	case !f.given.late:
		f.put(o, api.VerdictWaiting, f.given.lacks)
	case o.Verdict != api.VerdictFailed || f.due(o):
		f.put(o, api.VerdictFailed, fmt.Sprintf("not available within %s: %s", phrase.Span(spec.WithinTime()), f.given.lacks))
		o.At = f.stamp()
	}
	if o.Verdict == api.VerdictFailed {
		f.recheck(o.At.Add(spec.Every()))
	}
}

// take takes an answer in, unless it is about something else by now.
func (f *follow) take(a *Answer) {
	r := f.record
	if a.Snapshot != r.Snapshot || a.Given != r.Given || a.Generation != r.CheckGeneration {
		return
	}
	i := slices.IndexFunc(r.Outcomes, func(o api.CheckOutcome) bool { return o.Name == a.Check.Name })
	if i < 0 {
		return
	}
	verdict := api.VerdictFailed
	switch {
	case a.Unasked:
		verdict = api.VerdictWaiting
	case a.Passed:
		verdict = api.VerdictPassed
	}
	f.put(&r.Outcomes[i], verdict, a.Message)
	r.Outcomes[i].At = metav1.NewTime(a.At).Rfc3339Copy()
}

// put notes a verdict, and tells of a check that begins to fail.
func (f *follow) put(o *api.CheckOutcome, verdict, message string) {
	if o.Verdict != verdict {
		o.Since = f.stamp()
	}
	if verdict != api.VerdictFailed {
		o.Failures = 0
	} else if o.Failures++; o.Failures == 1 {
		f.tell("Warning", EventFailing, "check %s of snapshot %d fails on %s: %s", o.Name, f.record.Snapshot, f.given.on(), message)
	}
	o.Verdict, o.Message = verdict, cut(message)
}

// refuse ends the rollout of a snapshot of which a check failed too often in a row.
func (f *follow) refuse() bool {
	r, spec := f.record, &f.in.Check.Spec
	i := slices.IndexFunc(r.Outcomes, func(o api.CheckOutcome) bool { return o.Failures >= spec.Limit() })
	if i < 0 {
		return false
	}
	o := &r.Outcomes[i]
	r.Holds, r.Soaked = metav1.Time{}, false
	r.Refused = &api.CheckRefusal{
		Snapshot: r.Snapshot, Check: r.Check, At: f.stamp(),
		Message: cut(fmt.Sprintf("check %s of rollout check %s failed %s in a row on %s: %s", o.Name, r.Check, phrase.Count(o.Failures, "time"), f.given.on(), o.Message)),
	}
	if spec.RollsBack() {
		f.enter(api.CheckRollingBack, "members go back to what they had before snapshot %d", r.Snapshot)
	} else {
		f.enter(api.CheckStopped, "members stay with what they have")
	}
	f.tell("Warning", EventFailed, "snapshot %d is refused: %s; %s", r.Snapshot, r.Refused.Message, r.Message)
	f.goBack()
	return true
}

// soak finds since when all checks hold, and whether they did for long enough.
func (f *follow) soak() {
	r := f.record
	failing := func(o api.CheckOutcome) bool { return o.Verdict != api.VerdictPassed }
	if !f.given.available() || slices.ContainsFunc(r.Outcomes, failing) {
		r.Holds, r.Soaked = metav1.Time{}, false
		return
	}
	if r.Holds.IsZero() {
		r.Holds = f.stamp()
	}
	end := f.soakEnd()
	f.recheck(end)
	if r.Soaked || f.in.Now.Before(end) || !f.askedSince(end) {
		return
	}
	r.Soaked = true
	f.tell("Normal", EventHeld, "checks of snapshot %d held for %s on %s", r.Snapshot, phrase.Span(f.in.Check.Spec.SoakTime()), f.given.on())
}

// soakEnd is when the soak time is over; zero while no check holds.
func (f *follow) soakEnd() time.Time {
	if f.record.Holds.IsZero() {
		return time.Time{}
	}
	return f.record.Holds.Add(f.in.Check.Spec.SoakTime())
}

// askedSince says that every check was asked once more at the end of the soak time.
func (f *follow) askedSince(end time.Time) bool {
	if f.in.Check.Spec.SoakTime() == 0 {
		return true
	}
	for i := range f.in.Check.Spec.Checks {
		if f.in.Check.Spec.Checks[i].Availability == nil && f.record.Outcomes[i].At.Time.Before(end) {
			return false
		}
	}
	return true
}

// due says that a check is to be asked again.
func (f *follow) due(o *api.CheckOutcome) bool {
	end := f.soakEnd()
	return !f.in.Now.Before(o.At.Add(f.in.Check.Spec.Every())) || !end.IsZero() && !f.in.Now.Before(end) && o.At.Time.Before(end)
}

// ask lists what is due of members that are available: of others an answer says nothing yet.
func (f *follow) ask() {
	if !f.given.available() {
		return
	}
	spec := &f.in.Check.Spec
	for i := range spec.Checks {
		o := &f.record.Outcomes[i]
		switch {
		case spec.Checks[i].Availability != nil:
		case f.due(o):
			f.plan.Ask = append(f.plan.Ask, Question{
				Check: spec.Checks[i], Generation: f.in.Check.Generation, Snapshot: f.record.Snapshot, Given: f.record.Given,
				Members: f.given.members, Timeout: spec.Patience(),
			})
		default:
			f.recheck(o.At.Add(spec.Every()))
		}
	}
}

// message says what a snapshot under checks waits for.
func (f *follow) message() string {
	r := f.record
	for i := range r.Outcomes {
		if o := &r.Outcomes[i]; o.Verdict == api.VerdictFailed {
			return cut(fmt.Sprintf("%s failed %s in a row, %d are a failure: %s", o.Name, phrase.Count(o.Failures, "time"), f.in.Check.Spec.Limit(), o.Message))
		}
	}
	for i := range r.Outcomes {
		if o := &r.Outcomes[i]; o.Verdict == api.VerdictWaiting && !o.At.IsZero() {
			return fmt.Sprintf("%s cannot be asked: %s", o.Name, o.Message)
		}
	}
	switch {
	case !f.given.heard:
		return "waits: nobody hears of the members that have it"
	case !f.given.available():
		return cut("waits for " + f.given.lacks)
	case r.Holds.IsZero():
		return "waits for the first answers"
	case r.Soaked:
		return "all checks hold on " + f.given.on()
	}
	return fmt.Sprintf("all checks hold on %s, and have to until %s", f.given.on(), f.soakEnd().UTC().Format(time.RFC3339))
}
