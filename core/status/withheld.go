package status

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/phrase"
)

// withheld tells of withdrawals that are held; nothing while none is.
func (e *evaluation) withheld() []finding {
	if e.in.Release == nil {
		return nil
	}
	var names []string
	objects, reason := 0, ""
	for i := range e.in.Release.Held {
		if h := &e.in.Release.Held[i]; h.Loss != (api.Loss{}) {
			names, objects = append(names, h.Member), objects+h.Loss.Objects
			if reason == "" {
				reason = h.Reason
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []finding{{
		kind: api.ConditionWithdrawalHeld, status: metav1.ConditionTrue, reason: api.ReasonWithdrawalHeld,
		message: fmt.Sprintf("%s would leave %s; %s", phrase.Count(objects, "object"), phrase.List(names, shownNames), reason),
	}}
}
