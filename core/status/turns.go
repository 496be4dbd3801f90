package status

import (
	"cmp"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flotilla/core/api"
	"flotilla/core/pace"
)

// often is how often it is told that a condition of a placement turned True within one snapshot: once, a few times more, and after that now and
// then. Whatever a member's agent says back and forth makes no more events than that, and none of what is told once is left out.
var often = pace.Rate{Burst: 4, Every: 10 * time.Minute}

// Turns are how often it was told of late which condition of a placement turned. The zero value has told nothing.
type Turns struct {
	snapshot string
	told     map[string]pace.Bucket // by the reason of the event
	left     map[string]api.Audit   // the newest that were left out, as told
}

// Keep leaves out those of Events that tell of a turn which was told too often, until they may be told: what holds then is told late, and what
// turned back is not. It returns what is known once the rest is told, and when to ask again, zero for not.
func (t Turns) Keep(events []api.Audit, st *api.PlacementStatus, now time.Time) (kept []api.Audit, again time.Time, after Turns) {
	after = t.at(st.ObservedSnapshot)
	for _, e := range events {
		if _, of := turns(st, e.Reason); of {
			after.left[e.Reason] = e
			continue
		}
		kept = append(kept, e)
	}
	var due []api.Audit
	for _, reason := range slices.Sorted(maps.Keys(after.left)) {
		bucket := after.told[reason]
		if holds, _ := turns(st, reason); !holds {
			delete(after.left, reason)
			continue
		}
		if !often.Take(&bucket, now) {
			if next := often.Next(&bucket, now); again.IsZero() || next.Before(again) {
				again = next
			}
			continue
		}
		e := after.left[reason]
		e.At = metav1.NewTime(now).Rfc3339Copy()
		due = append(due, e)
		after.told[reason] = bucket
		delete(after.left, reason)
	}
	slices.SortStableFunc(due, func(a, b api.Audit) int { return cmp.Compare(place(a.Reason), place(b.Reason)) })
	return append(due, kept...), again, after
}

// at is what is known of a snapshot, to be changed.
func (t Turns) at(snapshot string) Turns {
	if t.snapshot != snapshot {
		t = Turns{}
	}
	after := Turns{snapshot: snapshot, told: map[string]pace.Bucket{}, left: map[string]api.Audit{}}
	maps.Copy(after.told, t.told)
	maps.Copy(after.left, t.left)
	return after
}

// turns says whether events of a reason tell that a condition turned True, and whether it is.
func turns(st *api.PlacementStatus, reason string) (holds, of bool) {
	if reason == EventCompleted {
		return completed(st), true
	}
	if at := place(reason); at < len(turned) {
		return isTrue(find(st.Conditions, turned[at].condition)), true
	}
	return false, false
}

// place is where events of a reason stand among those of turns: completion last.
func place(reason string) int {
	at := slices.IndexFunc(turned, func(t struct{ condition, event string }) bool { return t.event == reason })
	if at < 0 {
		return len(turned)
	}
	return at
}
