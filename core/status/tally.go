package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// What a tally counts: views of members.
const (
	isPicked = iota
	isCurrent
	isApplied
	isAvailable
	isFailed
	isDrifted
	isCorrected
	isFought
	isDiffering
	isRefused    // overrides cannot be followed there
	isOverridden // picked, with overrides
	isTroubled   // could not be applied, for another reason than drift
	isBound      // has an entry
	isBehind     // picked, without the newest snapshot
	isJoining    // picked, without an entry
	isDone       // picked, and ready on the newest snapshot
	isPending
	isTimed
	isShown   // its entry is one of a member in trouble
	isWaiting // and it only waits for others
	stepsLeft // of picked members
	isUnknown // at the first of the places of the chain; the others follow
	isFalse   = isUnknown + places
	tallied   = isFalse + places
)

// places is how many conditions the chain of a member has at most.
const places = 6

// tally counts the members of a placement: news of one moves it by what the member counted before and counts now.
type tally [tallied]int

func (t *tally) add(other *tally, times int) {
	for i := range t {
		t[i] += times * other[i]
	}
}

// worth is what one member counts.
func (e *evaluation) worth(v *view) (t tally) {
	count := func(what int, yes bool) {
		if yes {
			t[what]++
		}
	}
	count(isCurrent, v.current)
	count(isCorrected, v.corrected())
	count(isFought, v.fought())
	count(isBound, v.entry != nil)
	count(isRefused, v.refused)
	count(isPending, v.pending())
	count(isTimed, v.waitsOut())
	if v.result != nil {
		applied, _ := appliedOf(v.result)
		count(isApplied, applied == metav1.ConditionTrue)
		count(isFailed, applied == metav1.ConditionFalse)
		count(isDrifted, v.drifted())
		count(isDiffering, v.differing())
		count(isTroubled, v.otherFailure())
		count(isAvailable, v.available())
	}
	if v.status != metav1.ConditionTrue {
		t[isShown]++
		count(isWaiting, waits(e.word(v)))
	}
	if !v.binding.Waiting {
		e.countPicked(v, &t)
	}
	return t
}

func (e *evaluation) countPicked(v *view, t *tally) {
	t[isPicked]++
	switch {
	case !v.current:
		t[isBehind]++
		t[stepsLeft] += 2
	case !v.ready:
		t[stepsLeft]++
	default:
		t[isDone]++
	}
	switch {
	case v.entry == nil:
		t[isJoining]++
	case len(v.entry.Overrides) > 0:
		t[isOverridden]++
	}
	switch v.status {
	case metav1.ConditionUnknown:
		t[isUnknown+v.place]++
	case metav1.ConditionFalse:
		t[isFalse+v.place]++
	}
}

func (e *evaluation) counts() api.PlacementCounts {
	t := &e.tally
	c := api.PlacementCounts{
		Want: -1, Picked: t[isPicked], Current: t[isCurrent], Applied: t[isApplied], Available: t[isAvailable], Failed: t[isFailed] + t[isRefused],
		Drifted: t[isDrifted], Corrected: t[isCorrected], Differing: t[isDiffering],
	}
	if e.schedule != nil && e.schedule.Want != nil {
		c.Want = int(*e.schedule.Want)
	}
	return c
}
