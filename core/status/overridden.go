package status

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/phrase"
)

func statusOverridden(v *view) metav1.ConditionStatus {
	if v.refused {
		return metav1.ConditionFalse
	}
	return metav1.ConditionTrue
}

// overridden is False while overrides cannot be followed on a member: it keeps what it runs.
func (e *evaluation) overridden(v *view) finding {
	f := finding{kind: api.ConditionOverridden, status: metav1.ConditionTrue, reason: reasonNoOverride, message: "no override is specified for the selected objects"}
	switch {
	case v.refused:
		f.status, f.reason, f.message = metav1.ConditionFalse, reasonOverriddenFailed, refusal(v)
		return f
	case len(v.entry.Overrides) > 0:
		f.reason, f.message = reasonOverridden, overriddenText(v.entry)
	}
	f.since = v.entry.Since.Time
	return f
}

// refusal is why overrides cannot be followed on a member, and what it runs meanwhile.
func refusal(v *view) string {
	if v.entry == nil {
		return v.held + "; nothing is placed there until the override or what it changes does"
	}
	return fmt.Sprintf("%s; it keeps snapshot %d until the override or what it changes does", v.held, v.entry.Snapshot)
}

func overriddenText(entry *api.ReleaseEntry) string {
	names := make([]string, len(entry.Overrides))
	for i := range entry.Overrides {
		names[i] = api.OverrideName(entry.Overrides[i].Name)
	}
	return "made with " + phrase.List(names, shownNames)
}

// overridesOf are the overrides that what is released to a member was made with.
func overridesOf(entry *api.ReleaseEntry) (cluster []string, namespaced []api.NamespacedOverride) {
	for i := range entry.Overrides {
		o := &entry.Overrides[i]
		if namespace, name, inside := strings.Cut(o.Name, "/"); inside {
			namespaced = append(namespaced, api.NamespacedOverride{Namespace: namespace, Name: name})
		} else {
			cluster = append(cluster, o.Name)
		}
	}
	return cluster, namespaced
}

// refusedSince is when a member on which overrides cannot be followed was given what it holds, or when there was
// something to give.
func (e *evaluation) refusedSince(v *view) time.Time {
	switch {
	case v.entry != nil:
		return v.entry.Since.Time
	case e.latest != nil:
		return e.latest.Created.Time
	}
	return e.in.Now
}
