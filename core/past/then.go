package past

import (
	"fmt"
	"strings"
	"time"

	"flotilla/core/api"
)

// then is a placement at a time, as it comes to be known.
type then struct {
	*Input
	life  []api.Told // events of the placement that there was then
	until bool       // it was deleted since
	api.PastState
}

// at is how the placement was.
func at(in *Input) api.PastState {
	t := &then{Input: in, PastState: api.PastState{At: seconds(in.At)}}
	t.live()
	if !t.Existed {
		return t.PastState
	}
	t.version()
	t.revision()
	t.members()
	t.pause()
	t.tell()
	return t.PastState
}

// lacks says why a field is not known.
func (t *then) lacks(field, format string, args ...any) {
	t.Unknown = append(t.Unknown, api.NotKept{Field: field, Why: fmt.Sprintf(format, args...)})
}

// kept says that all events from then on are.
func (t *then) kept() bool { return !t.Input.At.Before(t.KeptFrom) }

func (t *then) notKept() string {
	return "events are kept from " + t.KeptFrom.UTC().Format(time.RFC3339) + " on"
}

// live finds the placement of the name that there was then.
func (t *then) live() {
	begin := 0
	for i := range t.Input.Told {
		e := &t.Input.Told[i]
		if !ends(e) {
			continue
		}
		if e.Stored.After(t.Input.At) {
			t.life, t.until = t.Input.Told[begin:i+1], true
			break
		}
		begin = i + 1
	}
	if !t.until {
		t.life = t.Input.Told[begin:]
	}
	switch {
	case !t.until && t.Input.Spec != nil:
		t.Existed = !t.Input.Spec.Created.After(t.Input.At)
		t.life = since(t.life, t.Input.Spec.Created.Time)
	case t.until:
		t.Existed = len(t.life) > 0 && (!t.life[0].Stored.After(t.Input.At) || !t.kept())
	}
	if !t.Existed && !t.kept() {
		t.lacks("existed", "%s", t.notKept())
	}
}

// since leaves out events from before a time, to the second.
func since(told []api.Told, begin time.Time) []api.Told {
	for len(told) > 0 && told[0].Stored.Before(begin) {
		told = told[1:]
	}
	return told
}

// past are the events up to then, later those after.
func (t *then) past() []api.Told {
	n := 0
	for n < len(t.life) && !t.life[n].Stored.After(t.Input.At) {
		n++
	}
	return t.life[:n]
}

func (t *then) later() []api.Told { return t.life[len(t.past()):] }

// version is the spec, with its generation.
func (t *then) version() {
	var last, next *api.Told
	for past, i := t.past(), 0; i < len(past); i++ {
		if changesSpec(&past[i]) {
			last = &past[i]
		}
	}
	for later, i := t.later(), 0; i < len(later) && next == nil; i++ {
		if changesSpec(&later[i]) {
			next = &later[i]
		}
	}
	switch current := t.Input.Spec; {
	case last != nil:
		t.Generation = last.Generation
	case next == nil && t.kept() && current != nil && !t.until:
		t.Generation = current.Generation
	default:
		t.lacks("generation", "%s", t.notKept())
		t.lacks("spec", "%s", t.notKept())
		return
	}
	switch current := t.Input.Spec; {
	case current != nil && !t.until && current.Generation == t.Generation:
		t.PastState.Spec = specOf(current.Body)
	case last != nil && last.Spec != nil:
		t.PastState.Spec = last.Spec
	default:
		t.lacks("spec", "generation %d was longer than an event holds, and there was another since", t.Generation)
	}
}

// revision is the number of the snapshot. Snapshots know the second in which they were cut, events more.
func (t *then) revision() {
	since := map[int64]bool{}
	for _, e := range t.later() {
		since[e.Snapshot] = since[e.Snapshot] || cuts(&e)
	}
	if !t.until {
		for _, s := range t.Snapshots {
			if !s.Created.After(t.Input.At) && !since[s.Index] {
				t.Snapshot = s.Index
			}
		}
	}
	for _, e := range t.past() {
		if cuts(&e) {
			t.Snapshot = max(t.Snapshot, e.Snapshot)
		}
	}
	if t.Snapshot == 0 && !t.kept() {
		t.lacks("snapshot", "%s", t.notKept())
	}
}

// cuts says that an event tells of a new snapshot.
func cuts(e *api.Told) bool {
	return e.Reason == "SnapshotCut" || e.Reason == "InvalidResourceSelectors"
}

// pause is who had paused the rollout.
func (t *then) pause() {
	ended := func(e *api.Told) bool {
		return e.Reason == "RolloutResumed" && strings.HasPrefix(e.Message, "it was paused")
	}
	past, later := t.past(), t.later()
	for i := len(past) - 1; i >= 0; i-- {
		switch e := &past[i]; {
		case e.Reason == "RolloutPaused":
			t.Paused = e.Message
			return
		case ended(e):
			return
		}
	}
	for i := range later {
		switch e := &later[i]; {
		case e.Reason == "RolloutPaused":
			return
		case ended(e):
			t.Paused = strings.TrimPrefix(e.Message, "it was ")
			return
		}
	}
	if !t.kept() {
		t.lacks("paused", "%s", t.notKept())
	}
}

// tell lists what events had told last of each kind, and says that conditions are no more than that.
func (t *then) tell() {
	lasts := map[string]api.PastEntry{}
	for _, e := range entries(t.Input, t.past()) {
		lasts[e.What] = e
	}
	for _, kind := range []string{
		api.PastApplied, api.PastDeleting, api.PastSnapshot, api.PastPicks, api.PastUnmet, api.PastMet, api.PastBegun, api.PastEnded,
		api.PastUndone, api.PastPaused, api.PastResumed, api.PastRestarted, api.PastTrouble,
	} {
		if e, told := lasts[kind]; told {
			t.PastState.Told = append(t.PastState.Told, e)
		}
	}
	t.lacks("conditions", "those of former times are not kept; what events told of them is in told")
}
