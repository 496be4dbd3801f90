package status

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/phrase"
)

// external says that staged runs give members what they hold, one this and another that.
func (e *evaluation) external() bool { return e.in.Placement.External() }

// observed is the index of the snapshot that all picked members of a placement of strategy External were given, 0 when they
// were given several, or some of them none.
func (e *evaluation) observed() int64 {
	if given := e.given(); len(given) == 1 {
		for index := range given {
			return index
		}
	}
	return 0
}

// given counts the picked members by the snapshot that they were given, 0 for none.
func (e *evaluation) given() map[int64]int {
	out := map[int64]int{}
	for i := range e.views {
		v := &e.views[i]
		switch {
		case v.binding.Waiting:
		case v.entry == nil:
			out[0]++
		default:
			out[v.entry.Snapshot]++
		}
	}
	return out
}

// controlled is the condition of a placement whose members hold several snapshots.
func (e *evaluation) controlled() finding {
	given := e.given()
	var texts []string
	for _, index := range slices.Backward(slices.Sorted(maps.Keys(given))) {
		what := "none"
		if index > 0 {
			what = fmt.Sprintf("snapshot %d", index)
		}
		texts = append(texts, fmt.Sprintf("%s on %s", what, phrase.Count(given[index], "member")))
	}
	return finding{
		kind: api.ConditionRolloutStarted, status: metav1.ConditionUnknown, reason: reasonRolloutExternal,
		message: "members hold what staged runs gave them: " + strings.Join(texts, ", ") + e.unbrought(),
	}
}

// unbrought says what members still lack, which only a staged run brings; nothing where they lack nothing.
func (e *evaluation) unbrought() string {
	held, given := 0, false
	for i := range e.views {
		v := &e.views[i]
		given = given || e.latest != nil && v.entry != nil && v.entry.Snapshot == e.latest.Index
		if v.held != "" {
			held++
		}
	}
	switch {
	case held == 0 || e.latest == nil:
		return ""
	case given:
		return "; " + phrase.Count(held, "member") + phrase.Plural(held, " waits", " wait") + " for a staged run"
	}
	return fmt.Sprintf("; snapshot %d, the newest, is for a staged run to bring", e.latest.Index)
}
