package status

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/phrase"
)

// texts are the reasons of one condition of a placement and the sentences that go with them; %s
// stands for the number of members.
type texts struct {
	kind                      string
	unknown, no, yes          string
	unknownText, noText, text string
}

// conditionTexts are in the order of the chain.
var conditionTexts = []texts{
	{
		api.ConditionRolloutStarted, reasonRolloutUnknown, reasonRolloutNotStarted, reasonRolloutStarted,
		"the rollout to %s is not decided yet", "%s must wait because of the rollout strategy", "the newest snapshot is released to %s",
	},
	{
		api.ConditionOverridden, reasonOverriddenPending, reasonOverriddenFailed, reasonNoOverride,
		"overrides are still to be followed on %s", "overrides cannot be followed on %s", "no override is specified for the objects on %s",
	},
	{
		api.ConditionWorkSynchronized, reasonSyncUnknown, reasonSyncNotYet, reasonSynchronized,
		"no heartbeat tells whether the snapshot was read by %s", "the snapshot has not been read yet by %s", "the snapshot has been read by %s",
	},
	{
		api.ConditionApplied, reasonApplyPending, reasonApplyFailed, reasonApplySucceeded,
		"it is not known yet whether all objects are applied on %s", "objects could not be applied on %s", "all objects are applied on %s",
	},
	{
		api.ConditionAvailable, reasonAvailableUnknown, reasonNotAvailableYet, reasonAvailable,
		"it is not known whether all objects are available on %s", "objects are not available yet on %s", "all objects are available on %s",
	},
}

// conditions are those of the placement. Scheduled comes first; the others follow over the members
// that were picked, up to the first that is not True. How the rollout does is no part of that chain and
// stands before it.
func (e *evaluation) conditions(going *api.Rollout) []metav1.Condition {
	prefix := kindOf(&e.in.Placement)
	first := e.placementScheduled()
	findings := []finding{first}
	if first.status != metav1.ConditionUnknown && first.reason != reasonInvalidSelectors {
		if going != nil {
			findings = append(findings, e.progressing(going))
		}
		findings = append(findings, e.rest(going)...)
	}
	findings = append(findings, e.withheld()...)
	var previous []metav1.Condition
	if e.previous != nil {
		previous = e.previous.Conditions
	}
	return e.dated(prefix, findings, previous)
}

func kindOf(p *api.Placement) string {
	if p.Namespace != "" {
		return api.KindResourcePlacement
	}
	return api.KindClusterResourcePlacement
}

func (e *evaluation) placementScheduled() finding {
	f := finding{kind: api.ConditionScheduled}
	switch {
	case e.latest != nil && e.latest.Error != "":
		f.status, f.reason = metav1.ConditionFalse, reasonInvalidSelectors
		f.message = "the resource selectors are invalid: " + e.latest.Error
	case e.schedule == nil:
		f.status, f.reason, f.message = metav1.ConditionUnknown, reasonSchedulePending, "the placement has not been scheduled yet"
	case e.schedule.Generation < e.in.Placement.Generation:
		f.status, f.reason = metav1.ConditionUnknown, reasonSchedulePending
		f.message = fmt.Sprintf("generation %d has not been scheduled yet", e.in.Placement.Generation)
	case e.schedule.Fulfilled:
		f.status, f.reason, f.message = metav1.ConditionTrue, reasonPolicyFulfilled, e.schedule.Message+e.nothing()
	default:
		f.status, f.reason, f.message = metav1.ConditionFalse, reasonPolicyUnfulfilled, e.schedule.Message
	}
	return f
}

// nothing is what is added to the message of a placement whose selectors all select nothing.
func (e *evaluation) nothing() string {
	selectors := e.in.Placement.Spec.ResourceSelectors
	if e.latest == nil || len(e.latest.Manifests) > 0 || len(selectors) == 0 {
		return ""
	}
	text := "; there is nothing to place: " + selectors[0].SelectsNothing(0, api.OnTheHub)
	if more := len(selectors) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// rest aggregates the members' chains: Unknown before False before True.
func (e *evaluation) rest(going *api.Rollout) []finding {
	if e.tally[isPicked] == 0 {
		return nil
	}
	if e.external() && e.observed() == 0 {
		return []finding{e.controlled()}
	}
	var out []finding
	chain := conditionTexts
	if e.reportsDiff() {
		chain = append(slices.Clone(chain[:3]), diffTexts)
	}
	for i, t := range chain {
		f := e.over(t, i+1)
		if f.status == metav1.ConditionFalse {
			f.message += e.because(f.kind, going)
		}
		out = append(out, f)
		if f.status != metav1.ConditionTrue {
			break
		}
	}
	return out
}

// because adds to a condition that is False who holds the rollout up, or, once it is complete, what broke
// since.
func (e *evaluation) because(kind string, going *api.Rollout) string {
	switch {
	case going == nil:
	case (kind == api.ConditionRolloutStarted || kind == api.ConditionOverridden) && going.HeldUpTotal > 0,
		kind == api.ConditionRolloutStarted && e.paused() != nil:
		return "; " + going.Message
	case going.Complete && (kind == api.ConditionApplied || kind == api.ConditionAvailable):
		for i := range e.views {
			v := &e.views[i]
			if state := e.word(v); state == api.EntryFailed || state == api.EntryDrifted || state == api.EntryNotAvailable {
				_, message := e.state(v)
				return "; " + v.member + ": " + message
			}
		}
	}
	return ""
}

// over is the condition at a place of the chain over all picked members. Chains of all of them reach
// it: the aggregate stops where the first of them does.
func (e *evaluation) over(t texts, place int) finding {
	picked, unknown, no := e.tally[isPicked], e.tally[isUnknown+place], e.tally[isFalse+place]
	f := finding{kind: t.kind}
	switch {
	case unknown > 0:
		f.status, f.reason = metav1.ConditionUnknown, t.unknown
		f.message = some(t.unknownText, e.stoppedAt(place, f.status), unknown, picked)
	case no > 0:
		f.status, f.reason = metav1.ConditionFalse, t.no
		f.message = some(t.noText, e.stoppedAt(place, f.status), no, picked)
	default:
		f.status, f.reason = metav1.ConditionTrue, t.yes
		if t.kind == api.ConditionOverridden && e.tally[isOverridden] > 0 {
			f.reason, t.text = reasonOverridden, "overrides are followed for the objects on %s"
			picked = e.tally[isOverridden]
		}
		f.message = fmt.Sprintf(t.text, all(picked))
		if t.kind == api.ConditionRolloutStarted && e.external() {
			f.message = fmt.Sprintf("snapshot %d is released to %s", e.observed(), all(picked)) + e.unbrought()
		}
	}
	return f
}

// stoppedAt are the first of the picked members whose chain ends at a place.
func (e *evaluation) stoppedAt(place int, status metav1.ConditionStatus) []string {
	var names []string
	for i := 0; i < len(e.views) && len(names) < shownNames; i++ {
		if v := &e.views[i]; !v.binding.Waiting && v.place == place && v.status == status {
			names = append(names, v.member)
		}
	}
	return names
}

func all(n int) string {
	if n == 1 {
		return "the 1 member"
	}
	return fmt.Sprintf("all %d members", n)
}

// shownNames is how many names a text lists.
const shownNames = 3

// some says of so many members, of which the first are named, that they stop there.
func some(text string, first []string, stop, of int) string {
	return fmt.Sprintf(text, fmt.Sprintf("%d of %s", stop, phrase.Count(of, "member"))) + ": " + phrase.First(first, stop)
}
