package rollout

import (
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
)

// limits are the numbers a step must keep to.
type limits struct {
	target         int // T of the reference: the members that the schedule wants now
	maxUnavailable int
	maxSurge       int
	// unavailableText and surgeText are the settings as the user wrote them, "25%".
	unavailableText string
	surgeText       string
}

func (r *rollout) limits() limits {
	return limitsOf(r.in.Placement.Spec.Strategy.RollingUpdate, r.target())
}

func limitsOf(ru *api.RollingUpdate, target int) limits {
	l := limits{target: target}
	var unavailable, surge *intstr.IntOrString
	if ru != nil {
		unavailable, surge = ru.MaxUnavailable, ru.MaxSurge
	}
	l.maxUnavailable, l.unavailableText = scale(unavailable, api.DefaultMaxUnavailable, target)
	l.maxSurge, l.surgeText = scale(surge, api.DefaultMaxSurge, target)
	return l
}

// Pace says how many members a placement lets change at once when the schedule wants so many.
func Pace(s *api.Strategy, members int) string {
	if s.Type == api.StrategyExternal {
		return "nobody by itself, " + api.StrategyExternal + ": staged runs bring it to members"
	}
	l := limitsOf(s.RollingUpdate, members)
	return fmt.Sprintf("at any time at most %s of %d unavailable, and at most %s beyond them",
		amount(l.maxUnavailable, l.unavailableText), members, amount(l.maxSurge, l.surgeText))
}

func amount(n int, text string) string {
	if text == strconv.Itoa(n) {
		return text
	}
	return fmt.Sprintf("%d (%s)", n, text)
}

// target counts the members that the schedule wants now, picked or kept. Members that were asked for
// and never found are no unavailable ones: counting them would hold a rollout up for ever (D23). Nor are those that hold
// nothing because overrides cannot be followed there.
func (r *rollout) target() int {
	if r.schedule == nil {
		return 0
	}
	wanted := len(r.schedule.Bindings)
	for _, s := range r.slots {
		if s.shut() {
			wanted--
		}
	}
	return wanted
}

// scale turns a number or a percentage of target, rounded up, into members. What cannot be read,
// which the door refuses, counts as the default.
func scale(value *intstr.IntOrString, fallback string, target int) (members int, text string) {
	v := intstr.Parse(fallback)
	if value != nil {
		v = *value
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(&v, target, true)
	if err != nil || n < 0 {
		v = intstr.Parse(fallback)
		n, _ = intstr.GetScaledValueFromIntOrPercent(&v, target, true)
	}
	return n, v.String()
}

// UnavailablePeriod is how long what cannot be tracked has to be available before its member counts as ready.
func UnavailablePeriod(ru *api.RollingUpdate) time.Duration {
	seconds := int32(api.DefaultUnavailablePeriodSeconds)
	if ru != nil && ru.UnavailablePeriodSeconds != nil {
		seconds = *ru.UnavailablePeriodSeconds
	}
	return time.Duration(seconds) * time.Second
}
