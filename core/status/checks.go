package status

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
)

// checks is how what goes out does under its RolloutCheck; nil where it goes out under none.
func (e *evaluation) checks() *api.CheckStatus {
	c := e.in.Checks
	if c == nil || c.UID != string(e.in.Placement.UID) || e.latest == nil || !e.external() && c.Snapshot != e.latest.Index {
		return nil
	}
	return &c.CheckStatus
}

// soaks says that members wait for checks to hold, or to fail, and for nobody else.
func (e *evaluation) soaks() bool {
	c := e.checks()
	if c == nil || c.Phase != api.CheckChecking {
		return c.Failed()
	}
	for i := range c.Outcomes {
		if c.Outcomes[i].Verdict == api.VerdictFailed {
			return true
		}
	}
	return !c.Holds.IsZero()
}

// checkWords are the words of the condition RolloutProgressing for the phases of checks.
var checkWords = map[string]struct {
	status metav1.ConditionStatus
	reason string
}{
	api.CheckChecking:       {metav1.ConditionTrue, api.ReasonRolloutChecking},
	api.CheckStopped:        {metav1.ConditionFalse, api.ReasonRolloutChecksFailed},
	api.CheckRollingBack:    {metav1.ConditionUnknown, api.ReasonRolloutRollingBack},
	api.CheckRolledBack:     {metav1.ConditionFalse, api.ReasonRolloutRolledBack},
	api.CheckRollBackFailed: {metav1.ConditionFalse, api.ReasonRolloutRollBackFailed},
}

// underChecks tells of checks in the condition of a rollout that goes out, or failed, under them.
func (e *evaluation) underChecks(f *finding) {
	c := e.checks()
	if c == nil || e.external() {
		return
	}
	if words, told := checkWords[c.Phase]; told {
		f.status, f.reason, f.since = words.status, words.reason, c.Since.Time
		f.message += "; " + c.Shown()
	}
}

func sameChecks(a, b api.CheckStatus) bool {
	same := sameTime(&a.Since, &b.Since) && sameTime(&a.Holds, &b.Holds) && len(a.Outcomes) == len(b.Outcomes) && samePointed(a.Refused, b.Refused, sameRefusal)
	for i := 0; same && i < len(a.Outcomes); i++ {
		same = sameOutcome(a.Outcomes[i], b.Outcomes[i])
	}
	for _, c := range []*api.CheckStatus{&a, &b} {
		c.Since, c.Holds, c.Outcomes, c.Refused = metav1.Time{}, metav1.Time{}, nil, nil
	}
	return same && reflect.DeepEqual(a, b)
}

func sameRefusal(a, b api.CheckRefusal) bool {
	same := sameTime(&a.At, &b.At)
	a.At, b.At = metav1.Time{}, metav1.Time{}
	return same && a == b
}

func sameOutcome(a, b api.CheckOutcome) bool {
	same := sameTime(&a.At, &b.At) && sameTime(&a.Since, &b.Since)
	a.At, b.At, a.Since, b.Since = metav1.Time{}, metav1.Time{}, metav1.Time{}, metav1.Time{}
	return same && a == b
}
