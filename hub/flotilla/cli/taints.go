package cli

import (
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flotilla/core/api"
)

func taintsOf(member *unstructured.Unstructured) []api.Taint {
	var mc struct {
		Spec struct {
			Taints []api.Taint `json:"taints"`
		} `json:"spec"`
	}
	body, err := json.Marshal(member.Object)
	if err != nil || json.Unmarshal(body, &mc) != nil {
		return nil
	}
	return mc.Spec.Taints
}

func hasTaint(member *unstructured.Unstructured, key string) bool {
	for _, t := range taintsOf(member) {
		if t.Key == key {
			return true
		}
	}
	return false
}

// taintChange is one argument of taint: a taint to set, or one to take away.
type taintChange struct {
	taint  api.Taint
	remove bool
}

// parseTaint reads kubectl's forms: key=value:NoSchedule, key:NoSchedule, and key-, key:NoSchedule-
// to take it away.
func parseTaint(arg string) (taintChange, error) {
	body, remove := strings.CutSuffix(arg, "-")
	pair, effect, hasEffect := strings.Cut(body, ":")
	key, value, _ := strings.Cut(pair, "=")
	switch {
	case key == "":
		return taintChange{}, usagef("taint %q: found no key, expected key=value:%s, or key- to remove it", arg, api.EffectNoSchedule)
	case !hasEffect && !remove:
		return taintChange{}, usagef("taint %q: found no effect, expected %s:%s", arg, pair, api.EffectNoSchedule)
	case hasEffect && effect != api.EffectNoSchedule:
		return taintChange{}, usagef("taint %q: found effect %q, expected %s, the only one there is", arg, effect, api.EffectNoSchedule)
	}
	return taintChange{taint: api.Taint{Key: key, Value: value, Effect: api.EffectNoSchedule}, remove: remove}, nil
}

// applyTaints returns the taints after the changes; the order of what stays is kept.
func applyTaints(taints []api.Taint, changes []taintChange) []api.Taint {
	result := append([]api.Taint{}, taints...)
	for _, c := range changes {
		kept := result[:0:0]
		placed := false
		for _, t := range result {
			switch {
			case t.Key != c.taint.Key:
				kept = append(kept, t)
			case !c.remove && !placed:
				kept = append(kept, c.taint)
				placed = true
			}
		}
		if !c.remove && !placed {
			kept = append(kept, c.taint)
		}
		result = kept
	}
	return result
}
