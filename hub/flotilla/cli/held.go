package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
)

// placementStatusOf reads the status of a placement; nil when it has none.
func placementStatusOf(obj *unstructured.Unstructured) *api.PlacementStatus {
	status, found, _ := unstructured.NestedMap(obj.Object, "status")
	if !found {
		return nil
	}
	text, err := json.Marshal(status)
	if err != nil {
		return nil
	}
	var s api.PlacementStatus
	if json.Unmarshal(text, &s) != nil {
		return nil
	}
	return &s
}

// heldUpBy is the sentence about who holds a rollout up; empty when nobody does.
func heldUpBy(v view) string {
	if v.number("status", "rollout", "heldUpTotal") == 0 {
		return ""
	}
	return v.text("status", "rollout", "message")
}

// heldUpCell is the same without its beginning, which is the head of the column, or what a rollout waits
// for that nobody holds up.
func heldUpCell(v view) any {
	return orDash(strings.TrimPrefix(v.text("status", "rollout", "message"), "held up by "))
}

// standsStill says that no member advanced within the progress deadline, as judged of the present
// generation.
func standsStill(obj *unstructured.Unstructured) bool {
	met, _ := conditionTest(api.ConditionRolloutProgressing, "False")(obj)
	return met
}

// unconfirmedText is "oslo (Unknown for 7m); withdrawn when it returns".
func unconfirmedText(now time.Time, list []api.Withdrawal) string {
	const most = 3
	var names []string
	away := true
	for i := range list {
		w := &list[i]
		away = away && w.State == api.MemberUnknown
		if i < most {
			names = append(names, w.ClusterName+" ("+whyUnconfirmed(now, w)+")")
		}
	}
	text := strings.Join(names, ", ")
	if more := len(list) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	switch {
	case away && len(list) == 1:
		return text + "; withdrawn when it returns"
	case away:
		return text + "; withdrawn when they return"
	}
	return text + "; the hub goes on withdrawing it"
}

func whyUnconfirmed(now time.Time, w *api.Withdrawal) string {
	switch {
	case w.State == api.MemberUnknown:
		return "Unknown for " + since(now, w.StateSince.Time)
	case w.Message != "":
		return w.Message
	case !w.LastSeen.IsZero():
		return "last heartbeat " + since(now, w.LastSeen.Time) + " ago"
	case w.State != "":
		return string(w.State)
	}
	return "not heard of"
}
