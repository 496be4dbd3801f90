package rollout

import (
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"flotilla/core/api"
)

// limits are the numbers a step must keep to.
type limits struct {
	target         int // T of the reference: the wanted number of members
	maxUnavailable int
	maxSurge       int
	// unavailableText and surgeText are the settings as the user wrote them, "25%".
	unavailableText string
	surgeText       string
}

func (r *rollout) limits() limits {
	l := limits{target: r.target()}
	var unavailable, surge *intstr.IntOrString
	if ru := r.in.Placement.Spec.Strategy.RollingUpdate; ru != nil {
		unavailable, surge = ru.MaxUnavailable, ru.MaxSurge
	}
	l.maxUnavailable, l.unavailableText = scale(unavailable, api.DefaultMaxUnavailable, l.target)
	l.maxSurge, l.surgeText = scale(surge, api.DefaultMaxSurge, l.target)
	return l
}

// target follows the schedule and not the policy, which may be ahead of it: bindings and their
// wanted number belong together.
func (r *rollout) target() int {
	switch {
	case r.schedule == nil:
		return 0
	case r.schedule.Want != nil:
		return int(*r.schedule.Want)
	}
	policy := r.in.Placement.Spec.Policy
	switch {
	case policy.Type() == api.PickFixed:
		return len(policy.ClusterNames)
	case policy.Type() == api.PickN && policy.NumberOfClusters != nil:
		return int(*policy.NumberOfClusters)
	}
	return len(r.schedule.Bindings)
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

func unavailablePeriod(ru *api.RollingUpdate) time.Duration {
	seconds := int32(api.DefaultUnavailablePeriodSeconds)
	if ru != nil && ru.UnavailablePeriodSeconds != nil {
		seconds = *ru.UnavailablePeriodSeconds
	}
	return time.Duration(seconds) * time.Second
}
