package check

import (
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/rollout"
)

// Input is everything a decision depends on. Nothing in it is changed.
type Input struct {
	// Name is that of the RolloutCheck that the newest snapshot goes out under, empty for none; Check is nil while there is none
	// of that name.
	Name  string
	Check *api.RolloutCheck
	// Placement is nil once it is gone; the records are nil while they do not exist.
	Placement *api.Placement
	Schedule  *api.Schedule
	Release   *api.Release
	// Latest is what goes out: the newest snapshot, or what a staged run brings, which Running says is under way.
	Latest  *api.Snapshot
	Running bool
	Record  *api.CheckRecord
	Known   rollout.Source
	// Answers came since the last decision, in their order.
	Answers []Answer
	// Halted says why nothing moves, empty where something may.
	Halted string
	Now    time.Time
}

// Question is what is to be asked now: a check, and what it is about.
type Question struct {
	Check      api.Check
	Generation int64 // of the RolloutCheck
	Snapshot   int64
	Given      int64
	Members    []string
	Timeout    time.Duration
}

// Answer is what a question came to.
type Answer struct {
	Question
	Passed bool
	// Unasked says that nobody could be asked: that is no pass, and no failure.
	Unasked bool
	Message string
	At      time.Time
}

// Plan is the next record and how it differs from the one before.
type Plan struct {
	// Record is to be written when Changed; nil is to be removed.
	Record  *api.CheckRecord
	Changed bool
	Ask     []Question
	Recheck time.Time
	Events  []api.Audit
}

// Follow decides on the checks of a placement.
func Follow(in Input) Plan {
	f := &follow{in: in}
	f.decide()
	if f.record != nil && (in.Record == nil || !reflect.DeepEqual(*in.Record, *f.record)) || f.record == nil && in.Record != nil {
		f.plan.Changed = true
	}
	f.plan.Record = f.record
	return f.plan
}

// follow is one decision in the making.
type follow struct {
	in     Input
	record *api.CheckRecord // a copy that may be changed; nil when there is to be none
	given  given
	plan   Plan
}

func (f *follow) decide() {
	if old := f.in.Record; old != nil && f.in.Placement != nil && old.UID == string(f.in.Placement.UID) {
		held := *old
		held.Outcomes = append([]api.CheckOutcome(nil), old.Outcomes...)
		f.record = &held
	}
	p, latest := f.in.Placement, f.in.Latest
	switch {
	case p == nil || p.DeletionTimestamp != nil:
		f.record = nil
		return
	case latest == nil || latest.Error != "":
		return
	case f.record.Refuses(latest.UID, latest.Index) && f.record.Snapshot == latest.Index:
		f.goBack()
		return
	case f.in.Name == "":
		if !p.External() {
			f.record = nil
		}
		return
	}
	f.begin()
	if f.record.Phase == api.CheckChecking {
		f.check()
	}
}

// begin puts a snapshot under its checks that is not yet, unless it is exempt.
func (f *follow) begin() {
	latest, first := f.in.Latest, f.record == nil
	if !first && f.record.Snapshot == latest.Index {
		f.record.Check = f.in.Name
		return
	}
	next := &api.CheckRecord{
		Header: api.NewHeader(api.KindCheckRecord), Placement: f.in.Placement.Key(), UID: latest.UID,
		CheckStatus: api.CheckStatus{Check: f.in.Name, Snapshot: latest.Index, Phase: api.CheckChecking, Since: f.stamp()},
	}
	if !first {
		next.Refused = f.record.Refused
	}
	f.record = next
	switch f.look(); {
	case latest.Undo != nil:
		next.Phase, next.Message = api.CheckExempt, fmt.Sprintf("a person went back to revision %d", latest.Undo.Of)
	case first && f.given.any && !f.in.Placement.External():
		next.Phase, next.Message = api.CheckExempt, "members had it before the check was named"
	default:
		f.tell("Normal", EventChecking, "snapshot %d goes out under rollout check %s", latest.Index, f.in.Name)
	}
}

func (f *follow) stamp() metav1.Time { return metav1.NewTime(f.in.Now).Rfc3339Copy() }

// enter begins a phase.
func (f *follow) enter(phase, format string, args ...any) {
	f.record.Phase, f.record.Since, f.record.Message = phase, f.stamp(), fmt.Sprintf(format, args...)
}

// recheck asks to look again at a time that is still to come.
func (f *follow) recheck(at time.Time) {
	if at.After(f.in.Now) && (f.plan.Recheck.IsZero() || at.Before(f.plan.Recheck)) {
		f.plan.Recheck = at
	}
}

// Reasons of the events of checks.
const (
	EventChecking       = "RolloutChecking"
	EventFailing        = "RolloutCheckFailing"
	EventHeld           = "RolloutChecksHeld"
	EventPassed         = "RolloutChecksPassed"
	EventFailed         = "RolloutChecksFailed"
	EventRolledBack     = "RolloutRolledBack"
	EventRollBackFailed = "RolloutRollBackFailed"
)

func (f *follow) tell(kind, reason, format string, args ...any) {
	f.plan.Events = append(f.plan.Events, api.Audit{
		Header: api.NewHeader(api.KindAudit), At: f.stamp(), Object: api.AuditObject(api.AuditPlacement, f.record.Placement),
		Type: kind, Reason: reason, Message: cut(fmt.Sprintf(format, args...)), By: "checker",
	})
}

// Named is the name of the RolloutCheck that what goes out of a placement stands under, empty for none: that of the staged
// run which brings it, where one is under way, and of other strategies that of the placement.
func Named(p *api.Placement, run *api.UpdateRunStatus) string {
	switch {
	case !p.External():
		return p.Annotations[api.AnnotationRolloutCheck]
	case run != nil && run.Content != nil:
		return run.Content.Check
	}
	return ""
}
