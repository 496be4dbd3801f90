package status

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// state is where a member stands in one word, and what keeps it from being available.
func (e *evaluation) state(v *view) (state, message string) {
	last := &v.chain[len(v.chain)-1]
	switch {
	case v.binding.Waiting:
		return api.EntryKept, oneLine(v.binding.Reason)
	case v.entry == nil:
		return api.EntryPending, oneLine(last.message)
	case v.offline():
		return api.EntryUnknown, "no heartbeat" + lastHeard(v)
	case !v.current:
		return api.EntryWaiting, oneLine(last.message)
	case v.result == nil:
		return api.EntryApplying, e.lacks(v).Message
	case e.reportsDiff():
		return e.reported(v)
	}
	switch applied, _ := appliedOf(v.result); {
	case applied == metav1.ConditionUnknown:
		return api.EntryApplying, e.lacks(v).Message
	case v.drifted() && !v.otherFailure():
		return api.EntryDrifted, e.lacks(v).Message
	case applied == metav1.ConditionFalse:
		return api.EntryFailed, e.lacks(v).Message
	case v.result.Available == "True" && v.fought():
		return api.EntryAvailable, correctedText(v.last)
	case v.result.Available == "True":
		return api.EntryAvailable, ""
	}
	return api.EntryNotAvailable, e.lacks(v).Message
}

// reported is the state of a member that writes nothing.
func (e *evaluation) reported(v *view) (state, message string) {
	switch {
	case v.result.DiffReported == "False":
		return api.EntryFailed, e.lacks(v).Message
	case v.result.DiffReported != "True":
		return api.EntryApplying, e.lacks(v).Message
	case v.differing():
		return api.EntryDiffers, differingText(v.result)
	}
	return api.EntrySame, ""
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

// withdrawals are the members that were told to give the placement up and have not confirmed that they did.
func (e *evaluation) withdrawals() []api.Withdrawal {
	var out []api.Withdrawal
	if e.in.Release == nil {
		return nil
	}
	for i := range e.in.Release.Entries {
		en := &e.in.Release.Entries[i]
		if !en.Withdrawn {
			continue
		}
		m := e.in.Members[en.Member]
		w := api.Withdrawal{ClusterName: en.Member, Since: en.Since.Rfc3339Copy(), State: m.State}
		if !m.Since.IsZero() {
			w.StateSince = metav1.NewTime(m.Since).Rfc3339Copy()
		}
		if r := e.in.Results[en.Member]; r != nil && r.UID == en.UID && r.Generation == en.Generation && !r.Withdrawn {
			w.Message = withdrawalText(r)
		}
		out = append(out, w)
	}
	return out
}

func withdrawalText(r *api.PlacementResult) string {
	if len(r.Failures) > 0 {
		f := &r.Failures[0]
		return f.String() + ": " + oneLine(orElse(f.Message, f.Reason))
	}
	return oneLine(r.AppliedMessage)
}
