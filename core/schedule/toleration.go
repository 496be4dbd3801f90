package schedule

import (
	"flotilla/core/api"
	"flotilla/core/verdict"
)

// tolerance says, for each distinct taint list of a fleet, which want its first untolerated taint
// is; -1 where all are tolerated.
type tolerance []int32

func (f *Fleet) tolerance(tolerations []api.Toleration, wants *[]verdict.Want) tolerance {
	judged := make(tolerance, len(f.taints.values))
	known := map[api.Taint]int32{}
	for id, text := range f.taints.values {
		judged[id] = -1
		if f.taints.uses[id] == 0 {
			continue
		}
		for _, taint := range f.taintLists[text] {
			if tolerated(taint, tolerations) {
				continue
			}
			want, seen := known[taint]
			if !seen {
				want = int32(len(*wants))
				known[taint] = want
				*wants = append(*wants, verdict.Want{Subject: "taint " + taint.String() + " cannot be tolerated"})
			}
			judged[id] = want
			break
		}
	}
	return judged
}

// Untolerated is the first of taints that a policy does not tolerate, as key=value:effect; empty when it tolerates all.
func Untolerated(policy *api.Policy, taints []api.Taint) string {
	var tolerations []api.Toleration
	if policy != nil {
		tolerations = policy.Tolerations
	}
	for _, taint := range taints {
		if !tolerated(taint, tolerations) {
			return taint.String()
		}
	}
	return ""
}

func tolerated(taint api.Taint, tolerations []api.Toleration) bool {
	if taint.Draining() {
		return false
	}
	for _, t := range tolerations {
		if tolerates(t, taint) {
			return true
		}
	}
	return false
}

// tolerates matches as Kubernetes does; an absent operator is the default, Equal.
func tolerates(t api.Toleration, taint api.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect {
		return false
	}
	switch t.Operator {
	case api.TolerationExists:
		return t.Key == "" || t.Key == taint.Key
	case api.TolerationEqual, "":
		return t.Key == taint.Key && t.Value == taint.Value
	}
	return false
}
