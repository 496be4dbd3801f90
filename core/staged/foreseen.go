package staged

import (
	"cmp"
	"time"

	"flotilla/core/api"
	"flotilla/core/rollout"
	"flotilla/core/stage"
)

// DefaultDuration is how long a member is taken to need for new content when nothing is known.
const DefaultDuration = time.Minute

// Foreseen is a copy of the fleet for a plan of a run: what the run lets out is released as the roller does, members that somebody
// hears of answer that it is available, and checks hold from then on.
type Foreseen struct {
	run     *api.StagedUpdateRun
	view    View
	answers map[string]*api.PlacementResult
	soak    time.Duration
	// holds is since when the checks hold on everything that is given, wake when they will have done so for the soak time.
	holds, wake time.Time
}

// Foresee copies what is known around a run; soak is for how long its checks have to hold.
func Foresee(run *api.StagedUpdateRun, v View, soak time.Duration) *Foreseen {
	f := &Foreseen{run: run, view: v, soak: soak, answers: map[string]*api.PlacementResult{}}
	f.view.Result = func(member string) *api.PlacementResult {
		return cmp.Or(f.answers[member], v.Result(member))
	}
	if v.Checks != nil {
		f.holds = v.Checks.Holds.Time
	}
	return f
}

// Step is that of the run, after what it let out was released.
func (f *Foreseen) Step(status *api.UpdateRunStatus, now time.Time) stage.Decision {
	f.release(status, now)
	f.check(status, now)
	d := Step(f.run, status, f.view, now)
	f.watch(&d.Status, now)
	return d
}

// Operate is that of the run.
func (f *Foreseen) Operate(status *api.UpdateRunStatus, now time.Time, verb string, ask *api.RunRequest) (stage.Decision, *api.Refusal) {
	d, refusal := Operate(f.run, status, f.view, now, verb, ask)
	if refusal == nil {
		f.watch(&d.Status, now)
	}
	return d, refusal
}

// Answer has a member do what is released to it.
func (f *Foreseen) Answer(status *api.UpdateRunStatus, result *api.UpgradeResult, now time.Time) {
	f.release(status, now)
	entry := f.view.held()[result.Member]
	if m, known := f.view.Member(result.Member); entry == nil || !known || m.Silent {
		return
	}
	f.answers[result.Member] = &api.PlacementResult{
		Member: result.Member, UID: entry.UID, Generation: entry.Generation, Snapshot: entry.Snapshot,
		Applied: "True", Available: "True", Withdrawn: entry.Withdrawn,
	}
}

// Wake is when the checks will have held for long enough.
func (f *Foreseen) Wake() time.Time { return f.wake }

// release does what the roller does while the run is under way.
func (f *Foreseen) release(status *api.UpdateRunStatus, now time.Time) {
	if !status.UnderWay() || f.view.Placement == nil {
		return
	}
	in := rollout.Input{
		Placement: *f.view.Placement, Schedule: f.view.schedule(), Release: f.view.Release, Latest: f.view.snapshot(status.Content.Snapshot),
		Grants: Grants(status), Results: map[string]*api.PlacementResult{}, Members: map[string]rollout.MemberView{}, Now: now,
		Checks: rollout.Checks{Name: status.Content.Check, Record: f.view.Checks},
	}
	for i := range status.Stages {
		stage.EachMember(&status.Stages[i], func(m *api.MemberUpdateStatus) { f.add(&in, m.Name) })
	}
	for member := range f.view.held() {
		f.add(&in, member)
	}
	next := rollout.Next(in).Release
	f.view.Release = &next
}

func (f *Foreseen) add(in *rollout.Input, member string) {
	m, known := f.view.Member(member)
	one := rollout.MemberView{State: api.MemberReady, Leaving: m.Leaving, Gone: !known}
	if m.Silent {
		one.State = api.MemberUnknown
	}
	if freeze := f.view.Freezes.On(api.FreezePlacements, member); freeze != nil {
		one.Frozen = freeze.By
	}
	in.Members[member] = one
	if result := f.view.Result(member); result != nil {
		in.Results[member] = result
	}
}

// check says what the checker would of the snapshot by now; what it refused stays refused.
func (f *Foreseen) check(status *api.UpdateRunStatus, now time.Time) {
	content, known := status.Content, f.view.Checks
	switch {
	case content.Check == "" || known.Refuses(content.PlacementUID, content.Snapshot):
		return
	case known != nil && known.Snapshot == content.Snapshot && known.Phase == api.CheckExempt:
		return
	}
	record := &api.CheckRecord{UID: content.PlacementUID}
	record.Check, record.Snapshot, record.Phase = content.Check, content.Snapshot, api.CheckChecking
	record.Soaked = !f.holds.IsZero() && !now.Before(f.holds.Add(f.soak))
	for _, entry := range f.view.held() {
		if !entry.Withdrawn && entry.Snapshot == content.Snapshot {
			record.Given = max(record.Given, entry.Generation)
		}
	}
	f.view.Checks = record
}

// watch notes since when the checks can hold: nobody is waited for.
func (f *Foreseen) watch(status *api.UpdateRunStatus, now time.Time) {
	running := false
	for i := range status.Stages {
		stage.EachMember(&status.Stages[i], func(m *api.MemberUpdateStatus) {
			running = running || m.Status.State == api.StateRunning
		})
	}
	f.wake = time.Time{}
	switch {
	case status.Content.Check == "" || !status.Status.State.Active():
		return
	case running:
		f.holds = time.Time{}
		return
	case f.holds.IsZero():
		f.holds = now
	}
	if ready := f.holds.Add(f.soak); ready.After(now) {
		f.wake = ready
	}
}
