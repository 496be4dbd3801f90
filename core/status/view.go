package status

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/rollout"
)

// view is what is known of one bound member.
type view struct {
	member  string
	binding *api.Binding
	state   Member
	// entry is nil when nothing of this placement is released to the member, or it is withdrawn.
	entry *api.ReleaseEntry
	held  string
	// refused says that overrides cannot be followed there; held is why.
	refused bool
	// last is the newest result about this placement; result is last where it answers entry.
	last, result *api.PlacementResult
	// current says that the newest snapshot is released to it; of strategy External whichever was.
	current bool
	// ready says that the member is done with what it was given; readyAt is when time alone makes it so.
	ready   bool
	readyAt time.Time
	// place is that of the last condition of its chain, status what that one is.
	place  int
	status metav1.ConditionStatus
}

// leaver is what is known of a member that was told to give the placement, or a former one of its name, up.
type leaver struct {
	entry  *api.ReleaseEntry
	result *api.PlacementResult
	state  Member
}

func (v *view) offline() bool { return v.state.State == api.MemberUnknown }

// hear takes in the newest result of a member and how it does, and derives from them what is kept.
func (e *evaluation) hear(v *view, result *api.PlacementResult, state Member) {
	v.state, v.last, v.result, v.current = state, nil, nil, false
	if result != nil && result.UID == string(e.in.Placement.UID) {
		v.last = result
	}
	if v.entry != nil {
		v.current = e.external() || e.latest != nil && v.entry.Snapshot == e.latest.Index
		if v.last != nil && v.last.Generation == v.entry.Generation && !v.last.Withdrawn {
			v.result = v.last
		}
	}
	e.look(v)
	v.place, v.status = e.reach(v)
}

// look reads from the answer of a member whether it is ready, by the rule of rollouts.
func (e *evaluation) look(v *view) {
	v.ready, v.readyAt = false, time.Time{}
	if v.result == nil || v.offline() {
		return
	}
	period := rollout.UnavailablePeriod(e.in.Placement.Spec.Strategy.RollingUpdate)
	v.ready, v.readyAt = rollout.Available(v.result, v.entry.Since.Time, period, e.in.Now)
}

// waitsOut says that time alone changes what is derived of a member.
func (v *view) waitsOut() bool { return v.result != nil && !v.offline() && rollout.WaitsOut(v.result) }

// pending says that a picked member is on its way to the newest snapshot. One that failed, or that nobody hears of,
// has got as far as it gets.
func (v *view) pending() bool {
	switch {
	case v.binding.Waiting, v.refused, v.current && v.ready, v.offline():
		return false
	case v.current && v.result != nil:
		applied, _ := appliedOf(v.result)
		return applied != metav1.ConditionFalse
	}
	return true
}

// available says that a member runs what it was given, be it older.
func (v *view) available() bool {
	return v.result != nil && !v.offline() && v.result.Available == "True"
}

// fought says that an object on the member is changed and written over again and again.
func (v *view) fought() bool {
	return v.last != nil && slices.ContainsFunc(v.last.Corrected, func(c api.Correction) bool { return c.Fought })
}

// drifted says that objects were changed on the member and left so.
func (v *view) drifted() bool {
	return v.result != nil && slices.ContainsFunc(v.result.Failures, drift)
}

// corrected says that objects were changed on the member of late and written over, whatever it runs by now.
func (v *view) corrected() bool { return v.last != nil && v.last.CorrectedTotal > 0 }

// differing says that objects on a member differ and are left so.
func (v *view) differing() bool { return v.result != nil && v.result.DifferingTotal > 0 }

func drift(f api.ManifestFailure) bool { return f.Reason == reasonFoundDrifts }

// otherFailure says that an object could not be applied for another reason than that it drifted.
func (v *view) otherFailure() bool {
	if v.result == nil {
		return false
	}
	applied, _ := appliedOf(v.result)
	return applied == metav1.ConditionFalse && (len(v.result.Failures) == 0 || slices.ContainsFunc(v.result.Failures, func(f api.ManifestFailure) bool {
		return f.Condition != api.ConditionAvailable && !drift(f)
	}))
}
