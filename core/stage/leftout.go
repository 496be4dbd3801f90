package stage

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"flotilla/core/api"
	"flotilla/core/phrase"
)

// Bounds of what is told of members that are left out: how many are named with their messages, how many of these in the
// warnings, and how many labels of each.
const (
	mostLeftOut       = 50
	mostLeftOutWarned = 10
	mostLabels        = 2
)

// leftOutPrefix begins the warnings about members that are left out.
const leftOutPrefix = api.ReasonLeftOut + ": "

// Keys are the keys of the labels that selectors look at, sorted. A nil selector looks at none.
func Keys(selectors ...labels.Selector) []string {
	var keys []string
	for _, selector := range selectors {
		if selector == nil {
			continue
		}
		requirements, _ := selector.Requirements()
		for i := range requirements {
			keys = append(keys, requirements[i].Key())
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// LeaveOut says why a member is left out, which what tells, and what to type: keys are those of the labels that its agent
// decides, of which there is at least one.
func LeaveOut(member, what string, of map[string]string, keys []string) api.LeftOut {
	keys = keys[:min(len(keys), mostLabels)]
	said, typed := make([]string, len(keys)), make([]string, len(keys))
	for i, key := range keys {
		said[i], typed[i] = saidText(of, key), key+"=VALUE"
	}
	return api.LeftOut{Member: member, Message: fmt.Sprintf("%s by %s: correct that at the agent, or write it: flotilla label member %s %s; a run looks again at its first start",
		what, strings.Join(said, " and "), member, strings.Join(typed, " "))}
}

// saidText is what an agent says of a label.
func saidText(of map[string]string, key string) string {
	if value, found := of[key]; found {
		return "label " + Cut(key, 63) + "=" + strconv.Quote(value) + ", which its agent alone states"
	}
	return "label " + Cut(key, 63) + ", which its agent may state and does not"
}

// TellLeftOut notes whom a run leaves out, and warns of it. What was noted before does not hold any more.
func TellLeftOut(status *api.UpdateRunStatus, out []api.LeftOut) {
	slices.SortFunc(out, func(a, b api.LeftOut) int { return strings.Compare(a.Member, b.Member) })
	told := warnings(status, false)
	var more []string
	for i := range out {
		if i < mostLeftOutWarned {
			told = append(told, leftOutPrefix+"member "+out[i].Member+" "+out[i].Message)
		} else {
			more = append(more, out[i].Member)
		}
	}
	if len(more) > 0 {
		told = append(told, leftOutPrefix+"the same of "+phrase.Enumerate(more))
	}
	status.Warnings, status.LeftOut = told, slices.Clip(out[:min(len(out), mostLeftOut)])
}

// AdoptLeftOut has a run leave out whom the one that is made anew leaves out, and nobody else.
func AdoptLeftOut(status, fresh *api.UpdateRunStatus) {
	status.Warnings, status.LeftOut = append(warnings(status, false), warnings(fresh, true)...), fresh.LeftOut
}

// warnings are those about members that are left out, or all others.
func warnings(status *api.UpdateRunStatus, ofLeftOut bool) (out []string) {
	for _, warning := range status.Warnings {
		if strings.HasPrefix(warning, leftOutPrefix) == ofLeftOut {
			out = append(out, warning)
		}
	}
	return out
}

// LeftOutEvents are those about members that a run leaves out and did not before; was is nil for a new one.
func LeftOutEvents(was, is *api.UpdateRunStatus, now time.Time) []Event {
	var out []Event
	for _, l := range is.LeftOut {
		if was != nil && was.UID == is.UID && slices.Contains(was.LeftOut, l) {
			continue
		}
		out = append(out, Event{
			At: now, Run: is.Run, Scope: ScopeMember, Name: l.Member,
			From: api.StateNotStarted, To: api.StateSkipped, Reason: api.ReasonLeftOut, Message: l.Message,
		})
	}
	return out
}
