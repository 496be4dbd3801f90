package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// state is where a member stands in one word, and what keeps it from being available.
func (e *evaluation) state(v *view) (state, message string) {
	state = e.word(v)
	switch state {
	case api.EntryKept:
		return state, oneLine(v.binding.Reason)
	case api.EntryFailed:
		if v.refused {
			return state, oneLine(refusal(v))
		}
	case api.EntryPending, api.EntryWaiting:
		chain := e.chain(v)
		return state, oneLine(chain[len(chain)-1].message)
	case api.EntryUnknown:
		return state, "no heartbeat" + lastHeard(v)
	case api.EntryAvailable:
		if v.fought() {
			return state, correctedText(v.last)
		}
		return state, ""
	case api.EntryDiffers:
		return state, differingText(v.result)
	case api.EntrySame:
		return state, ""
	}
	return state, e.lacks(v).Message
}

// word is where a member stands.
func (e *evaluation) word(v *view) string {
	switch {
	case v.binding.Waiting:
		return api.EntryKept
	case v.refused:
		return api.EntryFailed
	case v.entry == nil:
		return api.EntryPending
	case v.offline():
		return api.EntryUnknown
	case !v.current:
		return api.EntryWaiting
	case v.result == nil:
		return api.EntryApplying
	case e.reportsDiff():
		return reported(v)
	}
	switch applied, _ := appliedOf(v.result); {
	case applied == metav1.ConditionUnknown:
		return api.EntryApplying
	case v.drifted() && !v.otherFailure():
		return api.EntryDrifted
	case applied == metav1.ConditionFalse:
		return api.EntryFailed
	case v.result.Available == "True":
		return api.EntryAvailable
	}
	return api.EntryNotAvailable
}

// reported is where a member stands that writes nothing.
func reported(v *view) string {
	switch {
	case v.result.DiffReported == "False":
		return api.EntryFailed
	case v.result.DiffReported != "True":
		return api.EntryApplying
	case v.differing():
		return api.EntryDiffers
	}
	return api.EntrySame
}

// withdrawals are the members that were told to give the placement up and have not confirmed that they did.
func (e *evaluation) withdrawals() []api.Withdrawal {
	out := make([]api.Withdrawal, len(e.leavers))
	for i := range e.leavers {
		out[i] = e.leavers[i].withdrawal()
	}
	return out
}

func (l *leaver) withdrawal() api.Withdrawal {
	w := api.Withdrawal{ClusterName: l.entry.Member, Since: l.entry.Since.Rfc3339Copy(), State: l.state.State}
	if !l.state.Since.IsZero() {
		w.StateSince = metav1.NewTime(l.state.Since).Rfc3339Copy()
	}
	if r := l.result; r != nil && r.UID == l.entry.UID && r.Generation == l.entry.Generation && !r.Withdrawn {
		w.Message = withdrawalText(r)
	}
	return w
}

func withdrawalText(r *api.PlacementResult) string {
	if len(r.Failures) > 0 {
		f := &r.Failures[0]
		return f.String() + ": " + oneLine(orElse(f.Message, f.Reason))
	}
	return oneLine(r.AppliedMessage)
}
